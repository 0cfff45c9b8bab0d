import { describe, expect, test } from 'vitest';
import { mintText } from './test-events.ts';
import { createUuidV7Minter, uuidV7TimeMs } from './uuid-v7.ts';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const atMs = Date.parse('2026-06-10T10:00:00.123Z');
const node = new Uint8Array(10).fill(0xff);

describe('a UUIDv7 minter', () => {
  test('mints version 7 that carries the time of the clock', () => {
    const id = mintText(createUuidV7Minter({ now: () => atMs }));
    expect(id).toMatch(uuidV7);
    expect(uuidV7TimeMs(id)).toBe(atMs);
  });

  test('every id is greater than the one before, also when thousands fall in one millisecond', () => {
    const ids = createUuidV7Minter({ now: () => atMs });
    const texts = Array.from({ length: 20_000 }, () => mintText(ids));
    expect(new Set(texts).size).toBe(texts.length);
    expect([...texts].sort()).toEqual(texts);
    expect(uuidV7TimeMs(texts.at(-1) ?? '') - atMs).toBeLessThan(20);
  });

  test('ids keep growing when the clock steps back', () => {
    let clockMs = atMs;
    const ids = createUuidV7Minter({ now: () => clockMs });
    const before = mintText(ids);
    clockMs -= 60_000;
    expect(mintText(ids) > before).toBe(true);
  });

  test('a given time is carried as it is and does not move the ids of the clock', () => {
    const ids = createUuidV7Minter({ now: () => atMs });
    expect(uuidV7TimeMs(mintText(ids, atMs + 86_400_000))).toBe(atMs + 86_400_000);
    expect(uuidV7TimeMs(mintText(ids, 946_684_800_000))).toBe(946_684_800_000);
    expect(uuidV7TimeMs(mintText(ids))).toBe(atMs);
  });

  test('ids of one given time all differ', () => {
    const ids = createUuidV7Minter();
    const texts = Array.from({ length: 20_000 }, () => mintText(ids, atMs));
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.every((text) => uuidV7.test(text))).toBe(true);
  });

  test('ids of two minters differ, of the clock and of a given time, in the same millisecond', () => {
    const minters = [createUuidV7Minter({ now: () => atMs }), createUuidV7Minter({ now: () => atMs })];
    const texts = minters.flatMap((ids) => [mintText(ids), mintText(ids), mintText(ids, atMs), mintText(ids, atMs)]);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('all but the time and a counter is the same in every id of a minter', () => {
    const ids = createUuidV7Minter({ now: () => atMs, node });
    expect(mintText(ids)).toBe('019eb0f9-797b-7000-bfff-ffffffffffff');
    expect(mintText(ids)).toBe('019eb0f9-797b-7001-bfff-ffffffffffff');
    expect(mintText(ids, atMs)).toBe('019eb0f9-797b-7fff-bfff-ffff00000001');
    expect(mintText(ids, atMs)).toBe('019eb0f9-797b-7fff-bfff-ffff00000002');
  });

  test('an id takes 16 bytes, wherever it is written', () => {
    const target = Buffer.alloc(24, 1);
    createUuidV7Minter({ now: () => atMs, node }).writeNext(target, 4);
    expect(target.toString('hex')).toBe('01010101019eb0f9797b7000bfffffffffffffff01010101');
  });
});
