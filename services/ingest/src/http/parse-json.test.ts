import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from './parse-json.ts';

const parse = (text: string | Buffer, valuesMax?: number) => parseJson(Buffer.from(text as string), valuesMax);

test('a BOM is skipped, bytes that are not UTF-8 become U+FFFD', () => {
  expect(parse('\ufeff{"a":1}')).toMatchObject({ ok: true, value: { a: 1 } });
  expect(parse(Buffer.from([0x22, 0xff, 0xc0, 0xaf, 0x22]))).toMatchObject({ ok: true, value: '\ufffd\ufffd\ufffd' });
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

test('any JSON is read as JSON.parse reads it, and without escapes it holds neither NUL nor half a character', () => {
  const padding = ' '.repeat(16_384);
  const texts = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\0', '\ud83d', '\\', '"') });
  const objects = fc.object({ key: texts, values: [texts, fc.integer()] }).map((value) => JSON.stringify(value));
  fc.assert(
    fc.property(fc.oneof(fc.json(), objects), (json) => {
      const value: unknown = JSON.parse(json);
      const hasEscapes = json.includes('\\u');
      expect(parse(json)).toEqual({ ok: true, value, hasEscapes });
      expect(parse(padding + json)).toEqual({ ok: true, value, hasEscapes });
      // JSON.stringify writes both, and nothing else, as escapes.
      expect(hasEscapes || !/\\u/.test(JSON.stringify(value))).toBe(true);
    }),
  );
});

test('what bytes cannot say without escapes is in no body without them', () => {
  for (const bytes of [
    [0x22, 0, 0x22],
    [0x22, 0xed, 0xa0, 0xbd, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
  ]) {
    const parsed = parse(Buffer.from(bytes));
    expect(!parsed.ok || /^\ufffd+$/.test(String(parsed.value))).toBe(true);
  }
});
