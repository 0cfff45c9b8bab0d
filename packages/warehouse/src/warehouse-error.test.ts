import { ClickHouseError } from '@clickhouse/client';
import { expect, test } from 'vitest';
import { toReadError, toWriteError } from './warehouse-error.ts';

const clickHouseError = (code: string) => new ClickHouseError({ message: 'x', code });

test('a bad value or a lack of memory makes a block one that may be split; everything else is tried again', () => {
  const kinds = (codes: string[]) => codes.map((code) => toWriteError(clickHouseError(code)).kind);
  expect(kinds(['27', '376', '41'])).toEqual(['data', 'data', 'data']);
  expect(kinds(['241'])).toEqual(['limit']);
  // too many parts, timeout, unknown table, too many queries, cancelled, unknown code
  expect(new Set(kinds(['252', '159', '60', '202', '394', '99999']))).toEqual(new Set(['unavailable']));
  expect(toWriteError(new Error('ECONNRESET')).kind).toBe('unavailable');
});

test('a failed read tells whether it took too long, was too big or had an invalid expression', () => {
  const kinds = (codes: string[]) => codes.map((code) => toReadError(clickHouseError(code)).kind);
  expect(kinds(['159', '241', '158', '427', '394', '47', '53'])).toEqual([
    'timeout',
    'limit',
    'limit',
    'invalid-expression',
    'aborted',
    'unavailable',
    'unavailable',
  ]);
  expect(toReadError(new Error('socket hang up')).kind).toBe('unavailable');
  expect(toReadError(new Error('socket hang up'), AbortSignal.abort()).kind).toBe('aborted');
});

test('an error that was classified stays as it is', () => {
  const error = toReadError(clickHouseError('427'));
  expect(toReadError(error)).toBe(error);
});
