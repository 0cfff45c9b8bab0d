import fc from 'fast-check';

/*
 * For tests: values as nobody should send them, for fast-check. Everything is JSON text or becomes it, because that is
 * how it comes.
 */

/** Texts of any characters, with the ones that break parsers, escapes, databases and screens drawn often. */
export const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom('\0', '\ud83d', '\udc00', '\uffff', '\ufeff', '\u2028', '\u202e', '\u0301', '\u001b'),
  }),
  fc.string({
    unit: fc.constantFrom('%', '%E0', '%A4', '%00', '?', '&', '#', '/', '\\', 'utm_source=', '//', '@', ':'),
  }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'undefined',
    'NaN',
    "' OR 1=1 --",
    '{x:String}',
    '\\x27',
    '\\N',
    '""',
  ),
  fc.constantFrom(
    'http://[',
    'https://user:pw@a.example:99999/%00?utm_source=%ff#',
    'C:\\x',
    'javascript:1',
    '=1+1',
    '<script>',
  ),
  fc.constantFrom('x'.repeat(2_000), '\u{1f600}'.repeat(1_001), 'x'.repeat(5_000), '\0'.repeat(3_000)),
);

const hostileNumber = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(-0, 2 ** 53, 2 ** 53 + 1, 1e308, -1e308, 5e-324, 1e21, 946_684_800, 1e11),
);

/** Number texts that no JavaScript value stringifies to. */
const hostileNumberText = fc.constantFrom(
  '1e400',
  '-1e400',
  '1e-400',
  '-0',
  '9007199254740993',
  '123456789012345678901234567890',
);

const anyKey = fc.oneof(fc.string({ maxLength: 20 }), hostileText);

/** JSON text of any value: texts with and without escapes, numbers, lists, objects with any keys (also twice). */
export const { value: hostileJson } = fc.letrec<{ value: string; container: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    hostileText.map((text) => JSON.stringify(text)),
    hostileText.map(escaped),
    hostileNumber.map((number) => JSON.stringify(number)),
    hostileNumberText,
    fc.constantFrom('null', 'true', 'false', '[]', '{}', '""'),
    tie('container'),
  ),
  container: fc.oneof(
    fc.array(tie('value'), { maxLength: 5 }).map((values) => `[${values.join()}]`),
    fc.array(fc.tuple(anyKey, tie('value')), { maxLength: 8 }).map(object),
    fc.nat(40).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
    fc.integer({ min: 1, max: 3_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
    fc
      .integer({ min: 100, max: 5_000 })
      .map((count) => object(Array.from({ length: count }, (_, i) => [`k${i}`, String(i)]))),
  ),
}));

/** Of JSON texts by their keys, which may come twice. */
export function object(entries: (readonly [key: string, json: string])[]): string {
  return `{${entries.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join()}}`;
}

/** Every unit as an escape, so that lone surrogates and NUL come as other clients write them. */
function escaped(text: string): string {
  const escapes = Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  );
  return `"${escapes.join('')}"`;
}

const payloadFields =
  'url referrer hostname title screen language name tag id ip userAgent browser os device lcp inp fcp ttfb cls unknown __proto__'.split(
    ' ',
  );

/**
 * JSON text of an event of the website with hostile values in any of its fields, also twice; data and time are mostly
 * acceptable.
 */
export function hostileEvent(website: string): fc.Arbitrary<string> {
  const text = hostileText.map((value) => JSON.stringify(value));
  const field = fc.tuple(fc.constantFrom(...payloadFields), fc.oneof({ weight: 3, arbitrary: text }, hostileJson));
  const properties = fc.array(fc.tuple(anyKey, hostileJson), { maxLength: 10 }).map(object);
  const data = fc.oneof({ weight: 9, arbitrary: properties }, hostileJson).map((json) => ['data', json] as const);
  const time = fc
    .oneof({ weight: 9, arbitrary: fc.integer({ min: 946_684_800, max: 1_780_000_000 }).map(String) }, hostileJson)
    .map((json) => ['timestamp', json] as const);
  const type = fc.constantFrom('"event"', '"event"', '"identify"', '"performance"', '"pageview"');
  return fc
    .tuple(type, fc.array(field, { minLength: 2, maxLength: 16, size: 'max' }), fc.option(data), fc.option(time))
    .map(([typeJson, fields, ...optional]) => {
      const given = optional.filter((entry) => entry !== null);
      const payload = object([['website', JSON.stringify(website)], ...fields, ...given]);
      return object([
        ['type', typeJson],
        ['payload', payload],
      ]);
    });
}

/** Bytes that were a valid body once: some are changed, cut out, doubled or cut off. */
export function mutated(body: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(20),
    byte: fc.nat(255),
    kind: fc.nat(3),
  });
  return fc.tuple(body, fc.array(change, { minLength: 1, maxLength: 5 })).map(([bytes, changes]) => {
    let result = Buffer.from(bytes);
    for (const { at, length, byte, kind } of changes) {
      const start = Math.floor(at * result.length);
      const [before, middle, behind] = [
        result.subarray(0, start),
        result.subarray(start, start + length),
        result.subarray(start + length),
      ];
      if (kind === 0) result = Buffer.concat([before, Buffer.alloc(middle.length, byte), behind]);
      else if (kind === 1) result = Buffer.concat([before, behind]);
      else if (kind === 2) result = Buffer.concat([before, middle, middle, behind]);
      else result = Buffer.concat([before, Buffer.from([byte]), result.subarray(start)]);
    }
    return result;
  });
}
