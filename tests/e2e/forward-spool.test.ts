import { randomUUID } from 'node:crypto';
import { freePort } from '@meridian/embedded/ports';
import { createTestProxy } from '@meridian/embedded/test-proxy';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { always, chrome, createApi, eventually, request, type Website } from '../api-client.ts';
import { accepted, loggedEvents } from '../collector.ts';
import { createTwoRegions } from '../two-regions.ts';

/** us keeps what eu cannot take; between them stands what takes eu away. */
let link: Awaited<ReturnType<typeof createTestProxy>> | undefined;
const metricsPort = await freePort();
const cluster = await createTwoRegions(async ({ ports }) => {
  link = await createTestProxy({ host: '127.0.0.1', port: ports.eu });
  const PEERS = `eu=http://127.0.0.1:${link.port}`;
  return { us: { FORWARD_SPOOL: 'on', PEERS, METRICS_PORT: String(metricsPort) } };
});
const proxy = link as NonNullable<typeof link>;
let key: string;
let website: Website;

beforeEach(async () => {
  key = await cluster.newKey('eu');
  website = await cluster.createIn('eu', key);
});
afterAll(async () => {
  proxy.goUp();
  await cluster.stop();
  await proxy.close();
});

const collect = (route: 'send' | 'batch', body: unknown, headers: Record<string, string> = {}) =>
  request('POST', `${cluster.originOf('us')}/api/${route}`, { headers: { 'user-agent': chrome, ...headers }, body });
const pageview = (url: string) => ({ type: 'event', payload: { website: website.id, url } });
const untilNothingWaits = () =>
  eventually(
    async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    (metrics) => /^meridian_forward_spool_requests 0$/m.test(metrics),
  );
const logged = (count: number) =>
  loggedEvents(createApi(`${cluster.originOf('eu')}/v1/eu`, key), website.id, count, always());

test('events for a region that is away are taken, survive the death of the collector, and are stored there once, with their times and in one visit', async () => {
  proxy.goDown();
  const sentAtMs = Date.now();
  const first = accepted(await collect('send', pageview('/1')));
  const second = accepted(await collect('send', pageview('/2'), { 'x-umami-cache': first.cache }));
  expect(second.sessionId).toBe(first.sessionId);
  const batch = await collect('batch', [pageview('/3'), { type: 'nonsense' }, pageview('/4')], {
    'x-umami-cache': second.cache,
  });
  expect(batch.body).toMatchObject({ processed: 2, errors: 1, details: [{ index: 1 }], cache: null });
  const keptAtMs = Date.now();
  await cluster.kill('us');
  await cluster.start('us');
  proxy.goUp();

  expect(await cluster.untilStoredIn('eu', website, 4)).toMatchObject({ pageviews: 4, visits: 1, visitors: 1 });
  const events = await logged(4);
  expect(events.map(({ urlPath }) => urlPath).sort()).toEqual(['/1', '/2', '/3', '/4']);
  for (const { createdAt, sessionId } of events) {
    expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(sentAtMs - 1_000);
    expect(Date.parse(createdAt)).toBeLessThanOrEqual(keptAtMs + 1_000);
    expect(sessionId).toBe(first.sessionId);
  }
  expect(await cluster.storedIn('us', website)).toMatchObject({ pageviews: 0 });
});

test.each([
  ['of a visitor who has been there', 1],
  ['of one who is new', 0],
])('what waits %s is in one visit with what comes later, without tokens and with them', async (_, before) => {
  for (let sent = 0; sent < before; sent++) accepted(await collect('send', pageview('/before')));
  proxy.goDown();
  const answers = [];
  for (const url of ['/1', '/2', '/3']) answers.push(accepted(await collect('send', pageview(url))));
  const token = { 'x-umami-cache': answers[0]?.cache ?? '' };
  accepted(await collect('send', pageview('/4'), token));
  proxy.goUp();
  await eventually(
    () => collect('send', pageview('/5'), token),
    ({ status }) => status === 200,
  );
  const stored = await cluster.untilStoredIn('eu', website, before + 5);
  expect(stored).toMatchObject({ pageviews: before + 5, visits: 1, bounces: 0 });
});

test('while the region is there its visits are its own: without a token one visitor is in one visit', async () => {
  const sent = [];
  for (const url of ['/1', '/2', '/3']) sent.push(accepted(await collect('send', pageview(url))));
  expect(new Set(sent.map(({ visitId }) => visitId)).size).toBe(1);
  expect(await cluster.untilStoredIn('eu', website, 3)).toMatchObject({ pageviews: 3, visits: 1, bounces: 0 });
});

test('what the region has taken while its answer was lost is not stored twice', async () => {
  await eventually(
    () => collect('send', pageview('/warm')),
    ({ status }) => status === 200,
  );
  proxy.loseAnswers(2);
  const answers = await Promise.all([
    collect('send', pageview('/1')),
    collect('batch', [pageview('/2'), pageview('/3')], { 'idempotency-key': randomUUID() }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(proxy.lostAll()).toBe(true);
  await untilNothingWaits();
  // The log keeps the order: where this is stored, every copy is.
  await collect('send', pageview('/last'));
  await cluster.untilStoredIn('eu', website, 5);
  expect((await logged(5)).map(({ urlPath }) => urlPath).sort()).toEqual(['/1', '/2', '/3', '/last', '/warm']);
});

test('what comes while the region stands still for longer than it is waited for is stored once, with the time at which it came', async () => {
  await collect('send', pageview('/warm'));
  const sentAtMs = Date.now();
  cluster.pause('eu');
  try {
    expect((await collect('send', pageview('/1'))).status).toBe(200);
  } finally {
    cluster.resume('eu');
  }
  const resumedAtMs = Date.now();
  await untilNothingWaits();
  await collect('send', pageview('/last'));
  const [, event] = await logged(3);
  expect(event?.urlPath).toBe('/1');
  expect(Date.parse(event?.createdAt ?? '')).toBeGreaterThanOrEqual(sentAtMs - 1_000);
  expect(Date.parse(event?.createdAt ?? '')).toBeLessThan(resumedAtMs - 5_000);
});

test('what waits for a website that is deleted meanwhile goes with it, and keeps nothing behind it waiting', async () => {
  const other = await cluster.createIn('eu', key);
  proxy.goDown();
  expect((await collect('send', pageview('/gone'))).status).toBe(200);
  expect((await collect('send', { type: 'event', payload: { website: other.id, url: '/stays' } })).status).toBe(200);
  const api = createApi(`${cluster.originOf('eu')}/v1/eu`, key);
  await api.ok('DELETE', `/websites/${website.id}`);
  proxy.goUp();
  expect(await cluster.untilStoredIn('eu', other, 1)).toMatchObject({ pageviews: 1 });
  expect(await cluster.storedIn('eu', website)).toMatchObject({ pageviews: 0 });
});
