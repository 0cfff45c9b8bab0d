import { randomUUID } from 'node:crypto';
import type { BatchAnswer } from '@meridian/contract/collect';
import { publishWebsiteChange } from '@meridian/queue/website-changes';
import { testActor } from '@meridian/registry/registry-fixtures';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { startTestIngest } from './ingest-fixtures.ts';

/*
 * Every element that must be refused, sent alone and between two good neighbours of a batch, byte for byte as written
 * here: $W stands for the website's id.
 */

const ingest = await startTestIngest();
afterAll(ingest.stop);
let website: string;
beforeEach(async () => {
  website = await ingest.newWebsite();
});

/** Sends the element both ways; whatever it is, only itself may be refused, and for `field`. */
async function expectRefused(element: string, field: string): Promise<void> {
  const good = (url: string) => JSON.stringify({ type: 'event', payload: { website, url } });
  const sent = await ingest.send(element);
  const { error } = JSON.parse(sent.text);
  expect([sent.status, error.code, error.status]).toEqual([400, 'bad-request', 400]);
  expect(error.message).toMatch(new RegExp(`^${field}: `));
  expect(Object.keys(error.properties)).toEqual([field]);

  const batch = await ingest.batch(`[${good('/before')},${element},${good('/behind')}]`);
  expect(batch.status, batch.text).toBe(200);
  const { cache, ...answer } = JSON.parse(batch.text) as BatchAnswer;
  expect(answer).toEqual({
    size: 3,
    processed: 2,
    errors: 1,
    ignored: 0,
    ignoredDetails: [],
    details: [
      {
        index: 1,
        error: error.message,
        response: { error: { message: error.message, code: 'bad-request', status: 400 } },
      },
    ],
  });
  expect(typeof cache).toBe('string');
  expect((await ingest.storedEvents(website)).map((event) => event.urlPath)).toEqual(['/before', '/behind']);
}

const refuse = (element: string, field: string) => expectRefused(element.replaceAll('$W', website), field);
const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;

test.each([
  'null',
  'true',
  'false',
  '5',
  '-0',
  '"x"',
  '""',
  '[]',
  '[[]]',
  '[{"type":"event","payload":{"website":"$W"}}]',
])('an element that is %s instead of an object', (element) => refuse(element, 'event'));

test.each([
  '{}',
  '{"payload":{"website":"$W"}}',
  ...['"click"', '"EVENT"', '"event "', '""', '1', 'true', 'null', '["event"]', '{"event":1}', '"__proto__"'].map(
    (type) => `{"type":${type},"payload":{"website":"$W"}}`,
  ),
  '{"type":"event","type":"x","payload":{"website":"$W"}}',
  '{"Type":"event","payload":{"website":"$W"}}',
])('a type that is none: %s', (element) => refuse(element, 'type'));

test.each([
  '{"type":"event"}',
  ...['null', '[]', '"x"', '5', 'true', '[{"website":"$W"}]'].map((payload) => `{"type":"event","payload":${payload}}`),
  '{"type":"event","__proto__":{"payload":{"website":"$W"}}}',
  '{"type":"event","payload":{"website":"$W"},"payload":null}',
])('a payload that is none: %s', (element) => refuse(element, 'payload'));

test.each([
  '{}',
  ...[
    'null',
    '""',
    '"undefined"',
    '"null"',
    '123',
    'true',
    '{}',
    '{"id":"$W"}',
    '["$W"]',
    '"{$W}"',
    '" $W "',
    '"$W\\u0000"',
    '"$W\\n"',
    '"$W$W"',
    '"urn:uuid:$W"',
    '"\' OR 1=1 --"',
    '"../../etc/passwd"',
    '"\\ud83d"',
    `"${'x'.repeat(10_000)}"`,
    '"00000000-0000-0000-0000-000000000000"',
    '"ffffffff-ffff-ffff-ffff-ffffffffffff"',
    `"${randomUUID()}"`,
  ].map((id) => `{"website":${id}}`),
  '{"__proto__":{"website":"$W"}}',
  '{"constructor":{"prototype":{"website":"$W"}}}',
  '{"website":"$W","website":null}',
  '{"websiteId":"$W"}',
])('a website that is none: %s', (payload) => refuse(`{"type":"event","payload":${payload}}`, 'payload.website'));

test('a website id without dashes', () =>
  refuse(`{"type":"event","payload":{"website":"${website.replaceAll('-', '')}"}}`, 'payload.website'));

test('a website that was deleted', async () => {
  const deleted = await ingest.newWebsite();
  await ingest.registry.deleteWebsite(deleted, testActor);
  await publishWebsiteChange(ingest.reader, deleted);
  await refuse(`{"type":"event","payload":{"website":"${deleted}"}}`, 'payload.website');
  expect(await ingest.storedEvents(deleted)).toEqual([]);
});

test.each(['"x"', '""', '5', '0', 'true', 'false', '[]', '[1]', '[{"a":1}]'])('data that is no object: %s', (data) =>
  refuse(`{"type":"event","payload":{"website":"$W","name":"e","data":${data}}}`, 'payload.data'),
);

const aheadSeconds = (seconds: number) => String(Math.floor(Date.now() / 1_000) + seconds);
test.each([
  ...[
    '0',
    '-1',
    '1',
    '1.5',
    '1781085600.5',
    '946684799',
    '1e11',
    '1e15',
    '9007199254740992',
    '1e400',
    '-1e400',
    '1e-400',
  ],
  ...['true', '[]', '{}', '[1781085600]', '"yesterday"', '"NaN"', '""', '" 1781085600"', '"1e9"', '"2026-06-01"'],
  ...['"0x6a000000"', '"-5"', '"1781085600\\u0000"', '"9007199254740993"', `"${'9'.repeat(10_000)}"`, '4102444800'],
  aheadSeconds(700),
  `"${aheadSeconds(700)}"`,
  `${aheadSeconds(700)}000`,
])('a timestamp that is none or out of range: %s', (timestamp) =>
  refuse(`{"type":"event","payload":{"website":"$W","timestamp":${timestamp}}}`, 'payload.timestamp'),
);

test.each([31, 200, 5_000])('data or anything else nested %i levels deeper than the payload', async (depth) => {
  for (const inner of [nested('{"a":', '}', depth), nested('[', ']', depth), nested('[{"":', '}]', depth)]) {
    await refuse(`{"type":"event","payload":{"website":"$W","unknown":${inner}}}`, 'event');
    website = await ingest.newWebsite();
  }
  await refuse(`{"type":"event","payload":{"website":"$W","data":${nested('{"a":', '}', depth)}}}`, 'event');
});

test('what is refused costs nobody else anything, however many and of however many websites', async () => {
  const websites = await Promise.all(Array.from({ length: 50 }, () => ingest.newWebsite()));
  const unknown = randomUUID();
  const elements = websites.flatMap((id, i) => [
    { type: 'event', payload: { website: i === 20 ? unknown : id, url: `/${i}` } },
    [null, 5, 'x', [], { type: 'x' }, { type: 'event', payload: { website: id, data: 5 } }][i % 6],
  ]);
  const reply = JSON.parse((await ingest.batch(elements)).text) as BatchAnswer;
  expect([reply.size, reply.processed, reply.errors]).toEqual([100, 49, 51]);
  const bad = elements.flatMap((_, index) => (index % 2 === 1 || index === 40 ? [index] : []));
  expect(reply.details.map((detail) => detail.index)).toEqual(bad);
  const stored = await Promise.all(websites.map((id) => ingest.storedEvents(id)));
  expect(stored.map((events) => events.length)).toEqual(websites.map((_, i) => (i === 20 ? 0 : 1)));
});

test('a batch in which every element is bad is 200 and stores nothing', async () => {
  const elements = [null, 5, 'x', [], {}, { type: 'event' }, { type: 'event', payload: { website: 'x' } }];
  const reply = await ingest.batch(elements);
  expect(reply.status).toBe(200);
  expect(JSON.parse(reply.text)).toMatchObject({ size: 7, processed: 0, errors: 7, cache: null });
  expect('polluted' in {}).toBe(false);
});
