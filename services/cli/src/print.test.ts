import { expect, test } from 'vitest';
import { printable, shorten, toPrintableJson, toTable } from './print.ts';

const hostile = 'a\u001b[2J\u009b31m\r\nb\u202ec\u0000👟é';
const steering = /[\p{Cc}\u202a-\u202e]/u;

test('what could steer a terminal is shown as its escape, everything else as it is', () => {
  expect(printable(hostile)).toBe('a\\u001b[2J\\u009b31m\\u000d\\u000ab\\u202ec\\u0000👟é');
  for (const line of toTable([[hostile, 'x']])) expect(line).not.toMatch(steering);
});

test('JSON keeps its values and cannot steer a terminal either', () => {
  expect(toPrintableJson({ hostile })).not.toMatch(steering);
  expect(JSON.parse(toPrintableJson({ hostile }, 2))).toEqual({ hostile });
});

test('columns are aligned', () => {
  expect(
    toTable([
      ['ID', 'REASON'],
      ['0:1-1', 'x'],
      ['0', 'yy'],
    ]),
  ).toEqual(['ID     REASON', '0:1-1  x', '0      yy']);
});

test('a long text is cut', () => {
  expect([shorten('abcdef', 6), shorten('abcdefg', 6)]).toEqual(['abcdef', 'abcde…']);
});
