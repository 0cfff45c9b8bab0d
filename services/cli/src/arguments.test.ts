import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  checkOptions,
  parseFlag,
  parseId,
  parseListArguments,
  parseOptions,
  parseRollupArguments,
  parseTarget,
  required,
} from './arguments.ts';
import { UsageError } from './usage.ts';

test('a list has a limit and a form', () => {
  expect(parseListArguments([])).toEqual({ limit: 50, json: false });
  expect(parseListArguments(['--json', '--limit', '7'])).toEqual({ limit: 7, json: true });
});

test.each([
  ['--limit', '0'],
  ['--limit', 'x'],
  ['--limit', '1.5'],
  ['--limit'],
  ['--limit', '10001'],
  ['id'],
  ['--al'],
])('a list is not asked for with %s %s', (...args) => {
  expect(() => parseListArguments(args)).toThrow(UsageError);
});

test('a target is one id, or all when that is said', () => {
  expect(parseTarget(['0:1-1'])).toEqual({ id: '0:1-1' });
  expect(parseTarget(['--all'])).toBe('all');
});

test('what is shown is one id, and the refusal does not offer all', () => {
  expect(parseId(['0:1-1'])).toBe('0:1-1');
  for (const args of [[], ['0:1-1', '0:2-1'], ['--all']]) {
    expect(() => parseId(args)).toThrow(UsageError);
    expect(() => parseId(args)).not.toThrow('or --all');
  }
});

test.each([[], ['0:1-1', '--all'], ['0:1-1', '0:2-1'], ['--force', '0:1-1']])(
  'nothing is done to an unclear target: %s %s',
  (...args) => {
    expect(() => parseTarget(args)).toThrow(UsageError);
  },
);

test('a flag is off unless given, and no other is taken', () => {
  expect([parseFlag([], 'json'), parseFlag(['--json'], 'json')]).toEqual([false, true]);
  expect(() => parseFlag(['--jsn'], 'json')).toThrow(UsageError);
});

test('options are those that are named, and nothing else is taken', () => {
  expect(parseOptions(['--name', 'a b', '--json'], ['name', 'domain'], ['json', 'all'])).toEqual({
    name: 'a b',
    json: true,
    all: false,
  });
  for (const args of [['--nam', 'a'], ['--name'], ['a'], ['--json=1'], ['--__proto__', 'a']])
    expect(() => parseOptions(args, ['name'], ['json']), args.join(' ')).toThrow(UsageError);
});

test('what is wrong with an option is told by its own name, all of it at once and without its value', () => {
  const Schema = z.object({ name: z.string(), shareId: z.string().max(3), password: z.string().min(8) });
  const check = (values: Record<string, string | undefined>) => () => checkOptions(Schema, values);
  expect(check({ name: 'a', shareId: 'b', password: 'long enough' })()).toMatchObject({ name: 'a' });
  const faulty = check({ name: undefined, shareId: 'abcd', password: 'secret' });
  expect(faulty).toThrow(/^--name is required\n--share-id: .+\n--password: .+$/);
  expect(faulty).not.toThrow(/secret/);
  expect(() => required('username', '')).toThrow('--username is required');
});

const websiteId = '7c0a1c52-5a5e-4c8e-9f0e-1a2b3c4d5e6f';

test('rollups are checked everywhere unless a website or a time is given; they are put right only when that is asked for', () => {
  expect(parseRollupArguments([])).toEqual({ scope: {}, repair: false, json: false });
  const args = [
    '--website',
    websiteId,
    '--from',
    '2026-06-10',
    '--to',
    '2026-06-10T12:00:00+02:00',
    '--repair',
    '--json',
  ];
  expect(parseRollupArguments(args)).toEqual({
    scope: {
      websiteIds: [websiteId],
      from: new Date('2026-06-10T00:00:00Z'),
      to: new Date('2026-06-10T10:00:00Z'),
    },
    repair: true,
    json: true,
  });
});

test.each([
  ['--website', 'shop'],
  ['--from', 'yesterday'],
  ['--from', '2026-02-30'],
  ['--to', '2026-06-10T12:00'],
  ['--from', '2026-06-10', '--to', '2026-06-10'],
  ['--repair', websiteId],
  ['--fix'],
])('rollups are not checked with %s %s', (...args) => {
  expect(() => parseRollupArguments(args)).toThrow(UsageError);
});
