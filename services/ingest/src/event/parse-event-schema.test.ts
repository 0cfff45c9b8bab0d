import { SendBody } from '@meridian/contract/collect';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { hostileJson, hostileText, object } from '../hostile-fixtures.ts';
import { isFault, type ParsedEvent, parseEvent } from './parse-event.ts';

/*
 * The validator by hand against the schema of the contract, which says what is accepted and, in what it documents, how
 * long texts and how large measurements may be. Elements are drawn as JSON text, near every border that either of them
 * draws.
 */

type Documented = { maxLength?: number; minimum?: number; maximum?: number };
const schema = z.toJSONSchema(SendBody, { io: 'output', unrepresentable: 'any' }) as unknown as {
  properties: { payload: { properties: Record<string, Documented> } };
};
const fields = Object.entries(schema.properties.payload.properties);
const texts = fields.filter(([, { maxLength }]) => maxLength !== undefined).map(([name]) => name);
const measurements = fields.filter(([, { minimum }]) => minimum !== undefined).map(([name]) => name);

const website = '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50';
/**
 * The schema does not know the clock, so here it stands where the last time that the schema accepts is just acceptable.
 */
const nowMs = Date.UTC(9999, 11, 31) - 600_000;

const json = (value: unknown) => JSON.stringify(value);
const nested = fc
  .tuple(
    fc.integer({ min: 25, max: 36 }),
    fc.constantFrom(['{"a":', '}'] as const, ['[', ']'] as const, ['[[],{"":', '}]'] as const),
  )
  .map(([depth, [open, close]]) => `${open.repeat(depth)}1${close.repeat(depth)}`);
const websiteLike = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(website, website.toUpperCase(), website.replace('0', 'A')).map(json) },
  fc
    .constantFrom(
      website.slice(1),
      `${website}0`,
      ` ${website}`,
      `${website}\n`,
      website.replace('0', 'g'),
      website.replaceAll('-', ''),
    )
    .map(json),
  hostileJson,
);
const times = [
  946_684_799,
  946_684_800,
  1e11 - 1,
  1e11,
  1e11 + 1,
  946_684_800_000,
  253_402_214_400,
  253_402_214_400_000,
];
const timeLike = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...times), fc.integer({ min: -1, max: 1 }))
      .map(([time, by]) => time + by)
      .chain(spelled),
  },
  fc.integer({ min: 946_684_800, max: 4_102_444_800 }).chain(spelled),
  fc.constantFrom(
    '"1781085600.5"',
    '"1e9"',
    '" 5"',
    '"0x5"',
    '"\u0661\u0662"',
    '""',
    '1781085600.5',
    '1e400',
    '-0',
    'null',
    'true',
    '[]',
  ),
  hostileJson,
);
function spelled(time: number): fc.Arbitrary<string> {
  return fc.constantFrom(
    String(time),
    json(String(time)),
    json(`0${time}`),
    `${time}.0`,
    json(`+${time}`),
    json(`${time} `),
  );
}
const textLike = fc.oneof(
  hostileText.map(json),
  fc
    .tuple(
      fc.constantFrom('x', '\u{1f600}', '\ud83d', '\0', 'y\u{1f600}'),
      fc.constantFrom(20, 35, 45, 100, 200, 255, 500, 512, 16_384),
      fc.nat(3),
    )
    .map(([unit, limit, more]) =>
      json(unit.repeat(Math.ceil(limit / unit.length)).slice(0, limit - 1) + unit.repeat(more)),
    ),
  hostileJson,
);
const measurementLike = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '-1e-9',
    '60000',
    '60000.000001',
    '60001',
    '100',
    '100.1',
    '1e400',
    '5e-324',
    '"5"',
    'null',
    'true',
  ),
  fc.double({ min: -10, max: 70_000, noNaN: true }).map(json),
  hostileJson,
);
const dataLike = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.tuple(hostileText, hostileJson), { maxLength: 5 }).map(object) },
  fc.constantFrom('null', '{}', '[]', '""', '5', 'true'),
  hostileJson,
);
const entry = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom(...texts), textLike) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...measurements), measurementLike) },
  fc.tuple(fc.constant('data'), dataLike),
  fc.tuple(fc.constant('timestamp'), timeLike),
  fc.tuple(fc.constantFrom('data', 'unknown', 'title', '__proto__'), nested),
  fc.tuple(fc.constantFrom('__proto__', 'constructor', 'unknown', 'Website'), hostileJson),
);
const payloadLike = fc.oneof(
  {
    weight: 30,
    arbitrary: fc
      .tuple(websiteLike, fc.array(entry, { maxLength: 8 }))
      .map(([id, entries]) => object([['website', id], ...entries])),
  },
  hostileJson,
);
const typeLike = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom('"event"', '"pageview"', '"identify"', '"performance"') },
  fc.constantFrom('"Event"', '"event "', '"click"', '""', 'null', '["event"]', '0', '"toString"'),
  hostileJson,
);
const element = fc.oneof(
  {
    weight: 30,
    arbitrary: fc
      .tuple(typeLike, payloadLike, fc.option(nested))
      .map(([type, payload, unknown]) =>
        object([['type', type], ['payload', payload], ...(unknown === null ? [] : [['unknown', unknown] as const])]),
      ),
  },
  hostileJson,
);

test('both accept and refuse the same elements, for the same field, and read the same time from them', () => {
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(element, (text) => {
      const byHand = parseEvent(JSON.parse(text), nowMs, text.includes('\\u'));
      const bySchema = SendBody.safeParse(JSON.parse(text));
      expect(!isFault(byHand)).toBe(bySchema.success);
      if (isFault(byHand)) {
        refused++;
        // The schema finds nesting and what is no object in the element as a whole.
        const [issue] = bySchema.error?.issues ?? [];
        expect(byHand.field).toBe(issue?.path.join('.') || 'event');
      } else {
        accepted++;
        expect([byHand.websiteId, byHand.timestampMs]).toEqual([
          bySchema.data?.payload.website.toLowerCase(),
          bySchema.data?.payload.timestamp ?? null,
        ]);
      }
    }),
    { numRuns: 20_000 },
  );
  expect(accepted).toBeGreaterThan(3_000);
  expect(refused).toBeGreaterThan(3_000);
});

/** How a text is stored, said in another way than the product does it: by code points. */
function storedText(value: unknown, maxLength: number): string {
  if (value === null || value === undefined || typeof value === 'object') return '';
  let stored = '';
  for (const character of String(value).toWellFormed()) {
    if (character === '\0') continue;
    if (stored.length + character.length > maxLength) break;
    stored += character;
  }
  return stored;
}

test('of an accepted element every text and measurement is what the contract documents for its field', () => {
  let compared = 0;
  fc.assert(
    fc.property(
      fc.constantFrom('event', 'identify', 'performance'),
      fc.array(entry, { minLength: 1, maxLength: 12 }),
      (type, entries) => {
        const element = object([...entries, ['website', json(website)]]);
        const payload = JSON.parse(element) as Record<string, unknown>;
        const event = parseEvent({ type, payload: JSON.parse(element) }, nowMs, true);
        if (isFault(event)) return;
        compared++;
        for (const [name, { maxLength = 0, minimum = 0, maximum = 0 }] of fields) {
          // An own key only, as JSON has it.
          const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
          if (texts.includes(name)) {
            const text = storedText(value, maxLength);
            const isUsed =
              (name !== 'name' || type === 'event') &&
              (name !== 'device' || ['desktop', 'mobile', 'tablet'].includes(text));
            expect([name, event[name as keyof ParsedEvent]]).toEqual([name, isUsed ? text : '']);
          } else if (measurements.includes(name)) {
            const isUsed = type === 'performance' && typeof value === 'number' && value >= minimum && value <= maximum;
            expect([name, event.vitals?.[name as 'lcp'] ?? null]).toEqual([name, isUsed ? value : null]);
          }
        }
      },
    ),
    { numRuns: 7_000 },
  );
  expect(compared).toBeGreaterThan(2_000);
});

test('no field of the contract is left out above', () => {
  expect([...texts, ...measurements, 'website', 'data', 'timestamp'].toSorted()).toEqual(
    fields.map(([name]) => name).toSorted(),
  );
});
