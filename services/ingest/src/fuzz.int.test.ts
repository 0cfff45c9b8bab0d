import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { post, startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;

beforeAll(async () => {
  ingest = await startTestIngest();
  website = await ingest.newWebsite();
});
afterAll(() => ingest.stop());

const text = fc.string({ unit: 'binary', maxLength: 300 });
const value = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>('\u0000', '\ud83d', '%E0%A4%A', 'x'.repeat(20_000), -0, 2 ** 53, [], {}, null),
  fc.constantFrom('http://[', 'https://user:pw@a.example:99999/%00?utm_source=%ff#', '//x', 'C:\\x', 'javascript:1'),
);
const fields =
  'url referrer hostname title screen language name tag id ip userAgent browser os device lcp cls unknown __proto__'.split(
    ' ',
  );
const rarely = fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, value);
const payload = fc.record(
  {
    ...Object.fromEntries(fields.map((field) => [field, value])),
    data: fc.oneof({ weight: 9, arbitrary: fc.dictionary(text, value) }, value),
    timestamp: rarely,
    website: rarely,
  },
  { requiredKeys: [] },
);
const element = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('event', 'identify', 'performance'), payload }) },
  fc.jsonValue(),
  fc.record({ type: value, payload: value }, { requiredKeys: [] }),
);
/** The website is put in afterwards, so that most events get as far as the event log. */
const withWebsite = (one: unknown): unknown => {
  const { payload: inner } = (one ?? {}) as { payload?: object };
  return typeof inner === 'object' && inner !== null
    ? { ...(one as object), payload: { ...inner, website: (inner as { website?: unknown }).website ?? website } }
    : one;
};
const header = fc.string({ unit: 'grapheme-ascii', maxLength: 100 }).map((name) => name.replace(/[^\x20-\x7e]/g, ''));
const agent = fc.oneof({ weight: 9, arbitrary: fc.constant('curl/8.5.0') }, header);
const headers = fc.record(
  { 'x-umami-cache': header, 'x-forwarded-for': header, 'content-type': header, origin: header, 'user-agent': agent },
  { requiredKeys: [] },
);

const isAnswer = (status: number) => [200, 400, 413, 415, 422].includes(status);

test('no event makes a server error or hangs, and what is accepted is stored', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(element, headers, async (one, extra) => {
      const reply = await ingest.send(JSON.stringify(withWebsite(one)) ?? '', extra);
      if (!isAnswer(reply.status)) throw new Error(`${reply.status} ${reply.text}`);
      if (reply.text.includes('sessionId')) accepted++;
    }),
    { numRuns: 400 },
  );
  expect(accepted).toBeGreaterThan(50);
  expect(await ingest.storedEvents(website)).toHaveLength(accepted);
});

test('in a batch each event stands for itself: counts add up, and a good neighbour is always stored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(element, { maxLength: 20 }), async (elements) => {
      const good = { type: 'event', payload: { website, url: '/good', id: randomUUID() } };
      const reply = await ingest.batch(JSON.stringify([...elements.map(withWebsite), good]));
      if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
      const { size, processed, errors, ignored, details, cache } = JSON.parse(reply.text);
      expect([size, processed + errors + ignored]).toEqual([elements.length + 1, elements.length + 1]);
      expect(details.some((detail: { index: number }) => detail.index === elements.length)).toBe(false);
      expect(typeof cache).toBe('string');
    }),
    { numRuns: 150 },
  );
});

test('no bytes make a server error', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    fc.json().map((json) => Buffer.from(json.slice(0, -1))),
    fc.integer({ min: 1, max: 60_000 }).map((depth) => Buffer.from('['.repeat(depth))),
    fc.integer({ min: 1, max: 10_000 }).map((depth) => Buffer.from(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)),
  );
  await fc.assert(
    fc.asyncProperty(
      bytes,
      fc.constantFrom('send', 'batch'),
      fc.constantFrom('', 'gzip', 'br', 'deflate'),
      async (body, route, encoding) => {
        const reply = await post(ingest.port, `/api/${route}`, body, { 'content-encoding': encoding });
        if (!isAnswer(reply.status)) throw new Error(`${reply.status} ${reply.text}`);
      },
    ),
    { numRuns: 300 },
  );
});

test('after all of that the collector still works', async () => {
  const fresh = await ingest.newWebsite();
  expect((await ingest.send({ type: 'event', payload: { website: fresh, url: '/a' } })).status).toBe(200);
  expect((await ingest.storedEvents(fresh)).map((stored) => stored.urlPath)).toEqual(['/a']);
  expect('polluted' in {}).toBe(false);
});
