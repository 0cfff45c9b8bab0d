import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readUuids, writeUuid } from './uuid-bytes.ts';

test('a UUID written as bytes reads back the same, at any offset', () => {
  const bytes = Buffer.alloc(40);
  for (const uuid of [randomUUID(), '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
    writeUuid(bytes, 11, uuid);
    expect(readUuids(bytes.subarray(11, 27))).toEqual([uuid]);
  }
});

test('the bytes are those of the hexadecimal digits, in either case', () => {
  const bytes = Buffer.alloc(16);
  writeUuid(bytes, 0, '019EB10D-dcfb-77ff-BFFF-0123456789ab');
  expect(bytes.toString('hex')).toBe('019eb10ddcfb77ffbfff0123456789ab');
});

test('what is no UUID takes 16 bytes as well', () => {
  const bytes = Buffer.alloc(40, 1);
  for (const text of ['', 'x', 'ü'.repeat(36), '-'.repeat(100)]) expect(writeUuid(bytes, 3, text)).toBe(19);
  expect(bytes[19]).toBe(1);
});

test('a text that is too short takes nothing from the UUID before it', () => {
  const bytes = Buffer.alloc(16);
  writeUuid(bytes, 0, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  writeUuid(bytes, 0, '12');
  expect(bytes.toString('hex')).toBe(`12${'00'.repeat(15)}`);
});
