import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { startTestIngest } from '@meridian/ingest/ingest-fixtures';
import { createTestApi } from '@meridian/query/query-fixtures';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startProcess } from '../processes.ts';

/** The same for collection and API, as in every installation. */
const secret = 'a secret that all processes share for now';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let api: Awaited<ReturnType<typeof createTestApi>>;
/** One of each kind that is signed or kept, all genuine and valid, and the website that they are about. */
let tokens: Record<Kind, string>;
let websiteId: string;

const kinds = ['session token', 'API key', 'share token', 'cache token'] as const;
type Kind = (typeof kinds)[number];

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  ingest = await startTestIngest({ APP_SECRET: secret });
  api = await createTestApi(
    { postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' },
    { appSecret: secret },
  );
  const { token } = await api.newAccount();
  // Collector and API have registries of their own here: the website has one id in both.
  websiteId = await ingest.newWebsite();
  const body = { id: websiteId, name: 'Shop', domain: 'shop.example' };
  await api.ok('POST', '/websites', { token, body });
  const { key } = await api.ok('POST', '/me/api-keys', { token, body: { name: 'ci' } });
  const { slug } = await api.ok('POST', `/websites/${websiteId}/shares`, { token, body: { name: 'x' } });
  const { token: link } = await api.ok('GET', `/share/${slug}`);
  const { cache } = JSON.parse((await ingest.send(event({ id: 'user-1' }))).text);
  tokens = { 'session token': token, 'API key': key, 'share token': link, 'cache token': cache };
});
afterAll(async () => {
  await ingest.stop();
  await api.close();
});

const event = (fields: object = {}) => ({ type: 'event', payload: { website: websiteId, url: '/a', ...fields } });

/** Where the API takes credentials, and which it takes there. */
const places: [place: string, headers: (token: string) => Record<string, string>, taken: Kind[]][] = [
  ['as bearer', (token) => ({ authorization: `Bearer ${token}` }), ['session token', 'API key']],
  ['as x-umami-api-key', (token) => ({ 'x-umami-api-key': token }), ['API key']],
  ['as x-umami-share-token', (token) => ({ 'x-umami-share-token': token }), ['share token']],
  ['as x-umami-cache', (token) => ({ 'x-umami-cache': token }), []],
  ['as cookie', (token) => ({ cookie: `token=${token}; x-umami-share-token=${token}` }), []],
];

describe('no token passes for one of another kind', () => {
  test.each(places)('to the API %s', async (_place, headers, taken) => {
    for (const kind of kinds) {
      const answer = await api.call('GET', '/me', { headers: headers(tokens[kind]) });
      expect([kind, answer.status]).toEqual([kind, taken.includes(kind) ? 200 : 401]);
    }
  });

  test('to the API in its address', async () => {
    for (const kind of kinds) {
      const given = encodeURIComponent(tokens[kind]);
      for (const name of ['token', 'access_token', 'apiKey', 'key', 'shareToken', 'cache'])
        expect([kind, name, (await api.call('GET', `/me?${name}=${given}`)).status]).toEqual([kind, name, 401]);
      expect([kind, (await api.call('GET', `/share/${given}`)).status]).toEqual([kind, 404]);
    }
  });

  test('to the collector: all but its own count as none, and refuse nothing', async () => {
    const sent = async (headers: Record<string, string>) => {
      const { status, text } = await ingest.send(event(), headers);
      expect(status).toBe(200);
      return JSON.parse(text).sessionId;
    };
    const anonymous = await sent({});
    for (const kind of kinds) {
      const sessionId = await sent({ 'x-umami-cache': tokens[kind] });
      expect([kind, sessionId !== anonymous]).toEqual([kind, kind === 'cache token']);
      expect(await sent({ authorization: `Bearer ${tokens[kind]}` })).toBe(anonymous);
    }
  });

  test('a cache token opens no door beside a credential that is none', async () => {
    for (const kind of kinds) {
      const headers = { 'x-umami-cache': tokens['cache token'], 'x-umami-share-token': tokens[kind] };
      const answer = await api.call('GET', `/websites/${websiteId}`, { token: 'undefined', headers });
      expect([kind, answer.status]).toEqual([kind, kind === 'share token' ? 200 : 401]);
    }
  });
});

describe('a change of the secret', () => {
  const next = 'the secret that all processes share from now on';

  test('ends no session and no link, and makes no second visitor of one who comes back, with or without a token', async () => {
    const before = JSON.parse((await ingest.send(event())).text);
    const identified = JSON.parse((await ingest.send(event({ id: 'user-2' }))).text);
    const rotated = await api.newProcess({ appSecret: next, previousAppSecrets: [secret] });
    for (const [, headers, taken] of places)
      for (const kind of taken)
        expect([kind, (await rotated.call('GET', '/me', { headers: headers(tokens[kind]) })).status]).toEqual([
          kind,
          200,
        ]);

    const collector = await startTestIngest(
      { APP_SECRET: next, APP_SECRET_PREVIOUS: secret },
      { redisUrl: ingest.redisUrl, findWebsiteStatus: ingest.registry.findWebsiteStatus },
    );
    const sessionOf = async (fields: object, cache = '') => {
      const { text } = await collector.send(event(fields), { 'x-umami-cache': cache });
      return JSON.parse(text).sessionId;
    };
    expect(await sessionOf({})).toBe(before.sessionId);
    expect(await sessionOf({ ip: '203.0.113.99' }, before.cache)).toBe(before.sessionId);
    expect(await sessionOf({ ip: '203.0.113.99' }, identified.cache)).toBe(identified.sessionId);
    expect(await sessionOf({ ip: '203.0.113.99' })).not.toBe(before.sessionId);
    await Promise.all([rotated.close(), collector.stop()]);
  });

  test('ends all tokens at once where the old secret is not given', async () => {
    const changed = await api.newProcess({ appSecret: next });
    for (const [, headers, taken] of places)
      for (const kind of taken) {
        const { status } = await changed.call('GET', '/me', { headers: headers(tokens[kind]) });
        expect([kind, status]).toEqual([kind, kind === 'API key' ? 200 : 401]);
      }
    await changed.close();
  });
});

test.each(['ingest', 'query', 'standalone'])(
  '%s does not start with a secret of less than 32 bytes, and names the setting',
  async (name) => {
    const service = startProcess(process.execPath, ['--import', 'tsx', `services/${name}/src/main.ts`], {
      ...{
        DATABASE_URL: 'postgres://127.0.0.1:1/x',
        CLICKHOUSE_URL: 'http://127.0.0.1:1',
        REDIS_URL: 'redis://127.0.0.1:1',
      },
      ...{ PORT: '0', APP_SECRET: 'too short', APP_SECRET_PREVIOUS: `${secret},too short as well` },
    });
    expect(await service.exited).toBe(1);
    expect(service.output()).toContain('APP_SECRET: must have at least 32 bytes');
    expect(service.output()).toContain('APP_SECRET_PREVIOUS: each must have at least 32 bytes');
    expect(service.output()).not.toContain('too short');
  },
);
