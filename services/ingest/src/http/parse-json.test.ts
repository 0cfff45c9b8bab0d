import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from './parse-json.ts';

const parse = (text: string | Buffer, valuesMax?: number) => parseJson(Buffer.from(text as string), valuesMax);

test('a BOM is skipped, bytes that are not UTF-8 become U+FFFD', () => {
  expect(parse('\ufeff{"a":1}')).toEqual({ ok: true, value: { a: 1 } });
  expect(parse(Buffer.from([0x22, 0xff, 0xc0, 0xaf, 0x22]))).toEqual({ ok: true, value: '\ufffd\ufffd\ufffd' });
});

test.each(['', '{"type":"event"', '{"a":1,}', "{'a':1}", 'NaN', '{"a":1} x', '// no', '\ufeff\ufeff{}'])(
  '%j is malformed, and the message says that it is the JSON',
  (text) => {
    expect(parse(text)).toEqual({ ok: false, message: expect.stringContaining('JSON') });
  },
);

test('a large body of nothing but values is refused before it is parsed; what is inside strings does not count', () => {
  const padding = `"${'x'.repeat(20_000)}"`;
  // Two commas and three brackets.
  expect(parse(`[${padding},[],{}]`, 5).ok).toBe(true);
  expect(parse(`[${padding},[],{}]`, 4).ok).toBe(false);
  expect(parse(`["${'[{,'.repeat(20_000)}"]`, 1).ok).toBe(true);
  expect(parse(`["\\"${'[,'.repeat(20_000)}\\\\",{}]`, 3).ok).toBe(true);
  expect(parse('['.repeat(2_000_000)).ok).toBe(false);
  expect(parse(`[${'1,'.repeat(2_000_000)}1]`).ok).toBe(false);
  expect(parse(`{${'"":0,'.repeat(1_000_000)}"":0}`).ok).toBe(false);
  expect(parse(`"${'\\"'.repeat(20_000)}`).ok).toBe(false);
});

test('any JSON is read as JSON.parse reads it', () => {
  const padding = ' '.repeat(16_384);
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(parse(json)).toEqual({ ok: true, value: JSON.parse(json) });
      expect(parse(padding + json)).toEqual({ ok: true, value: JSON.parse(json) });
    }),
  );
});
