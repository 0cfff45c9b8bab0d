import { expect, test } from 'vitest';
import { isFault, type ParsedEvent, parseEvent } from './parse-event.ts';

const website = '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50';
const now = Date.parse('2026-06-10T10:00:00Z');

function parsed(payload: object, type = 'event'): ParsedEvent {
  const event = parseEvent({ type, payload: { website, ...payload } }, now, true);
  if (isFault(event)) throw new Error(`${event.field}: ${event.fault}`);
  return event;
}

const faultOf = (element: unknown) => {
  const event = parseEvent(element, now, true);
  return isFault(event) ? event.field : null;
};

test('only type and website are needed', () => {
  const { type, websiteId, vitals, timestampMs, ...texts } = parsed({});
  expect([type, websiteId, vitals, timestampMs]).toEqual(['pageview', website, null, null]);
  expect(new Set(Object.values(texts))).toEqual(new Set(['']));
});

test.each([null, undefined, true, 5, 'x', [], [{}]])('an element that is %j is refused', (element) => {
  expect(faultOf(element)).toBe('event');
});

test.each([undefined, null, '', 'EVENT', 'click', 1, ['event'], {}])('the type %j is refused', (type) => {
  expect(faultOf({ type, payload: { website } })).toBe('type');
});

test.each([undefined, null, [], 'x', 5])('the payload %j is refused', (payload) => {
  expect(faultOf({ type: 'event', payload })).toBe('payload');
});

test.each([
  undefined,
  null,
  '',
  'undefined',
  123,
  {},
  [website],
  `{${website}}`,
  website.replaceAll('-', ''),
  ` ${website} `,
  "' OR 1=1 --",
])('the website %j is refused', (id) => {
  expect(faultOf({ type: 'event', payload: { website: id } })).toBe('payload.website');
});

test.each(['x', 5, true, false, [], [1]])('data that is %j is refused', (data) => {
  expect(faultOf({ type: 'event', payload: { website, data } })).toBe('payload.data');
});

test.each([0, 'yesterday', 1e18])('the timestamp %j is refused', (timestamp) => {
  expect(faultOf({ type: 'event', payload: { website, timestamp } })).toBe('payload.timestamp');
});

test('nesting of 32 levels is accepted, of 33 refused, in data and in fields that nobody knows', () => {
  const nested = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
  for (const field of ['data', 'unknown']) {
    // The event and its payload are the first two levels.
    expect(faultOf({ type: 'event', payload: { website, [field]: nested(30) } })).toBeNull();
    expect(faultOf({ type: 'event', payload: { website, [field]: nested(31) } })).toBe('event');
  }
  expect(faultOf({ type: 'event', payload: { website }, unknown: nested(50_000) })).toBe('event');
});

test('nothing can be supplied through __proto__', () => {
  const json = `{"type":"event","payload":{"__proto__":{"website":"${website}"}}}`;
  expect(faultOf(JSON.parse(json))).toBe('payload.website');
  expect(faultOf(JSON.parse(`{"type":"event","__proto__":{"payload":{"website":"${website}"}}}`))).toBe('payload');
});

test('null means absent, for every optional field', () => {
  const fields = ['url', 'hostname', 'title', 'referrer', 'screen', 'language', 'name', 'tag', 'id', 'data', 'ip'];
  const more = ['userAgent', 'browser', 'os', 'device', 'timestamp', 'lcp', 'cls'];
  expect(parsed(Object.fromEntries([...fields, ...more].map((field) => [field, null])))).toEqual(parsed({}));
});

test('an array or object in a text field is dropped, numbers and booleans become text', () => {
  expect(parsed({ title: { a: 1 }, tag: ['x'], name: ['click'], url: {}, id: [] })).toEqual(parsed({}));
  expect(parsed({ title: 5, tag: true, name: 42, id: 7 })).toMatchObject({
    title: '5',
    tag: 'true',
    name: '42',
    id: '7',
    type: 'custom',
  });
});

test.each([
  ['url', 16_384],
  ['referrer', 16_384],
  ['title', 500],
  ['hostname', 255],
  ['name', 100],
  ['tag', 100],
  ['id', 200],
  ['language', 35],
  ['screen', 20],
] as const)('%s is cut to %i characters', (field, max) => {
  expect(parsed({ [field]: 'x'.repeat(max) })[field]).toHaveLength(max);
  expect(parsed({ [field]: 'x'.repeat(max + 1_000) })[field]).toHaveLength(max);
});

test('a name makes a custom event; pageview is an alias of event; other types have no name', () => {
  expect(parsed({ name: 'signup' })).toMatchObject({ type: 'custom', name: 'signup' });
  expect(parsed({ name: '   ' })).toMatchObject({ type: 'custom', name: '   ' });
  expect(parsed({ name: '' }).type).toBe('pageview');
  expect(parsed({ name: '\0' }).type).toBe('pageview');
  expect(parsed({}, 'pageview').type).toBe('pageview');
  expect(parsed({ name: 'x' }, 'identify')).toMatchObject({ type: 'identify', name: '' });
  expect(parsed({ name: 'x' }, 'performance')).toMatchObject({ type: 'performance', name: '' });
});

test('a website id in upper case is the same website', () => {
  expect(parsed({ website: website.toUpperCase() }).websiteId).toBe(website);
});

test('a device other than desktop, mobile and tablet is ignored', () => {
  expect(['desktop', 'mobile', 'tablet', 'tv', 'Mobile', 5].map((device) => parsed({ device }).device)).toEqual([
    'desktop',
    'mobile',
    'tablet',
    '',
    '',
    '',
  ]);
});

test('vitals belong to performance only; one that is out of range or no number is dropped', () => {
  expect(parsed({ lcp: 5 }).vitals).toBeNull();
  expect(parsed({ lcp: 0, inp: 60_000, fcp: 60_001, ttfb: -1, cls: 100 }, 'performance').vitals).toEqual({
    lcp: 0,
    inp: 60_000,
    fcp: null,
    ttfb: null,
    cls: 100,
  });
  expect(parsed({ lcp: 'fast', inp: null, ttfb: {}, cls: 100.1 }, 'performance').vitals).toEqual({
    lcp: null,
    inp: null,
    fcp: null,
    ttfb: null,
    cls: null,
  });
});
