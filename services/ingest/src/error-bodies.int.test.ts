import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, chrome, type Reply, startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
/** Of a website that there is not: what is wrong with these requests is seen before it is looked up. */
const website = randomUUID();
/** What a driver may say when it fails; none of it is a client's business. */
const driverFailure = Object.assign(
  new Error(
    'Failed query: select "region" from "websites" where "id" = $1 - connect ECONNREFUSED 10.0.0.5:5432 (meridian@postgres)',
  ),
  { code: '23505', detail: 'Key (id)=(1) already exists.', table: 'websites' },
);
const unluckyWebsite = randomUUID();

beforeAll(async () => {
  const findWebsiteStatus = async (websiteId: string) => {
    if (websiteId === unluckyWebsite) throw driverFailure;
    return ingest.registry.findWebsiteStatus(websiteId);
  };
  ingest = await startTestIngest({}, { findWebsiteStatus });
});
afterAll(() => ingest.stop());

const event = (payload: object, type = 'event') => ({ type, payload: { website, ...payload } });
/** Words of our making, of databases and drivers, of files and stacks. */
const words =
  /\b(?:select|insert|update|where|table|column|constraint|relation|duplicate|undefined|stack|position|unexpected)\b|sql|postgres|clickhouse|redis|\blua\b|drizzle|prisma|zod|node_modules|\.[cm]?[jt]s\b|\bat \S+(?::\d+| \()|file:|\[object/i;
const namesOfErrors = /\bE[A-Z]{4,}|[A-Z][a-z]+Error|\b23505\b|\/(?:work|app|home|srv|tmp)\//;

const bad: [string, string | object, Record<string, string>?][] = [
  ['no JSON', '{"type":"event",'],
  ['JSON with something behind it', '{} x'],
  ['a quote of the own path', "'; DROP TABLE events; --"],
  ['nothing', ''],
  ['a text', '"text"'],
  ['null', 'null'],
  ['no type', { payload: { website } }],
  ['a type that is an object', { type: { toString: 1 }, payload: { website } }],
  ['no payload', { type: 'event' }],
  ['a payload that is a list', { type: 'event', payload: [website] }],
  ['an unknown website', event({ website: randomUUID() })],
  ['a website that is SQL', event({ website: "1' OR '1'='1" })],
  ['a website that is an object', event({ website: { $ne: null } })],
  ['data that is a text', event({ data: 'x' })],
  ['a time out of range', event({ timestamp: 1e20 })],
  ['a time that is an object', event({ timestamp: {} })],
  ['nesting without end', `${'{"type":"event","payload":'.repeat(200)}1${'}'.repeat(200)}`],
  ['brackets', '['.repeat(60_000)],
  ['a form', 'type=event', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['an encoding that is none', event({}), { 'content-encoding': 'zstd' }],
  ['gzip that is none', event({}), { 'content-encoding': 'gzip' }],
  ['a body over every limit', 'x'.repeat(6_000_000)],
  ['an Idempotency-Key that is none', event({}), { 'idempotency-key': 'a b' }],
  ['a website whose lookup fails', event({ website: unluckyWebsite })],
];

function expectNoInsides(text: string): void {
  expect(text).not.toMatch(words);
  expect(text).not.toMatch(namesOfErrors);
}

function expectPlain(reply: Reply): void {
  const { error } = JSON.parse(reply.text);
  expect(Object.keys(error).sort()).toEqual(
    ['code', 'message', 'status', ...(error.properties ? ['properties'] : [])].sort(),
  );
  expect([error.status, error.message.length > 5]).toEqual([reply.status, true]);
  expectNoInsides(reply.text);
  expect(JSON.stringify(reply.headers)).not.toMatch(/express|hono|node|redis|clickhouse|postgres/i);
}

describe('an error tells what is wrong with the request and nothing of what is inside', () => {
  test.each(bad)('%s', async (_, body, headers = {}) => {
    for (const route of ['send', 'batch'] as const) {
      const reply = await ingest[route](body, headers);
      expect([400, 413, 415, 503]).toContain(reply.status);
      expectPlain(reply);
    }
    if (typeof body === 'string') return;
    const reply = await ingest.batch([body]);
    if (reply.status !== 200) return expectPlain(reply);
    const [detail] = JSON.parse(reply.text).details;
    if (detail) expectPlain({ ...reply, status: detail.response.error.status, text: JSON.stringify(detail.response) });
    expectNoInsides(reply.text);
  });

  test('another method, another path', async () => {
    for (const [method, path] of [
      ['GET', '/api/send'],
      ['PUT', '/v1/batch'],
      ['POST', '/api/sends'],
      ['POST', '/v1/xx/send'],
      ['GET', '/api/../../etc/passwd'],
      ['GET', '/%00'],
    ] as const)
      expectPlain(await call(ingest.port, method, path, undefined, { 'user-agent': chrome }));
  });

  test('an id of any length is no error', async () => {
    const known = await ingest.newWebsite();
    for (const length of [51, 200, 201, 300, 5_000]) {
      for (const type of ['identify', 'event', 'performance'])
        expect(
          (await ingest.send(event({ website: known, id: 'i'.repeat(length), data: { a: 1 } }, type))).status,
        ).toBe(200);
    }
  });
});

describe('an event without a usable website', () => {
  const unusable = [
    undefined,
    null,
    '',
    'undefined',
    'null',
    'shop.example',
    0,
    42,
    true,
    {},
    [],
    '{}',
    ' ',
    '0'.repeat(36),
  ];
  test('is 400 and names payload.website, with the valid token of a website as well; nothing is stored for that one', async () => {
    const own = await ingest.newWebsite();
    const page = { website: own, url: '/own' };
    const { cache } = JSON.parse((await ingest.send({ type: 'event', payload: page })).text);
    for (const headers of [{}, { 'x-umami-cache': cache }]) {
      for (const value of [...unusable, [own], { id: own }, `${own} `, `${own}'`, randomUUID()]) {
        for (const type of ['event', 'identify', 'performance']) {
          const element = { type, payload: { website: value, url: '/other' } };
          const reply = await ingest.send(element, headers);
          expect([JSON.stringify(value), reply.status]).toEqual([JSON.stringify(value), 400]);
          expect(JSON.parse(reply.text).error).toMatchObject({
            code: 'bad-request',
            message: expect.stringContaining('payload.website'),
            properties: { 'payload.website': { errors: [expect.any(String)] } },
          });
          expect(JSON.parse((await ingest.batch([element], headers)).text)).toMatchObject({ processed: 0, errors: 1 });
        }
      }
    }
    expect((await ingest.storedEvents(own)).map((stored) => stored.urlPath)).toEqual(['/own']);
  });

  test('is not the same as a malformed body, which is told to be malformed', async () => {
    for (const body of [
      '{"type":"event","payload":{"website":undefined}}',
      '{type:event}',
      "{'type':'event'}",
      'undefined',
    ]) {
      for (const route of ['send', 'batch'] as const) {
        const { error } = JSON.parse((await ingest[route](body)).text);
        expect([error.code, error.message]).toEqual(['bad-request', expect.stringMatching(/JSON/)]);
        expect(error.properties).toBeUndefined();
      }
    }
  });
});
