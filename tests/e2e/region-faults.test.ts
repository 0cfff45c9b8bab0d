import { createTestProxy } from '@meridian/embedded/test-proxy';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { always, chrome, createApi, eventually, request, type Website } from '../api-client.ts';
import { loggedEvents } from '../collector.ts';
import { createTwoRegions, type Region } from '../two-regions.ts';

type Proxy = Awaited<ReturnType<typeof createTestProxy>>;

/**
 * Between us and eu, and between eu and the registry, stands what breaks them; eu has a replica of the registry as
 * well.
 */
const proxies = {} as { link: Proxy; registry: Proxy };
const cluster = await createTwoRegions(async ({ ports, registryUrl }) => {
  const registry = new URL(registryUrl);
  proxies.link = await createTestProxy({ host: '127.0.0.1', port: ports.eu });
  proxies.registry = await createTestProxy({ host: registry.hostname, port: Number(registry.port) });
  registry.host = `127.0.0.1:${proxies.registry.port}`;
  return {
    us: { PEERS: `eu=http://127.0.0.1:${proxies.link.port}` },
    eu: { DATABASE_URL: registry.href, DATABASE_REPLICA_URL: registryUrl },
  };
});
let key: string;
let sites: Record<Region, Website>;

beforeEach(async () => {
  key = await cluster.newKey('us');
  sites = { us: await cluster.createIn('us', key), eu: await cluster.createIn('eu', key) };
});
afterEach(() => {
  for (const proxy of Object.values(proxies)) proxy.goUp();
});
afterAll(async () => {
  await cluster.stop();
  for (const proxy of Object.values(proxies)) await proxy.close();
});

const ask = (at: Region, path: string, method = 'GET', body?: unknown) =>
  request(method, `${cluster.originOf(at)}${path}`, {
    headers: { authorization: `Bearer ${key}` },
    ...(body !== undefined && { body }),
  });
const collect = (at: Region, website: Website) =>
  request('POST', `${cluster.originOf(at)}/api/send`, {
    headers: { 'user-agent': chrome },
    body: { type: 'event', payload: { website: website.id, url: '/' } },
  });

test('a slow way to the other region costs nobody here anything', async () => {
  proxies.link.hang();
  let isAnswered = false;
  const slow = ask('us', `/v1/eu/websites/${sites.eu.id}`).finally(() => {
    isAnswered = true;
  });
  for (let i = 0; i < 10; i++) {
    expect((await ask('us', `/v1/us/websites/${sites.us.id}`)).status).toBe(200);
    expect((await collect('us', sites.us)).status).toBe(200);
  }
  expect(isAnswered).toBe(false);
  proxies.link.goUp();
  expect((await slow).body).toMatchObject({ id: sites.eu.id });
});

test('a way that was cut and is there again is used again; what was asked meanwhile was 503 and never a zero', async () => {
  await collect('us', sites.eu);
  await cluster.untilStoredIn('eu', sites.eu, 1);
  const stats = `/v1/eu/websites/${sites.eu.id}/stats?startAt=0&endAt=${Date.now() + 60_000}`;
  for (let round = 0; round < 3; round++) {
    expect(
      (
        await eventually(
          () => ask('us', stats),
          ({ status }) => status === 200,
        )
      ).body,
    ).toMatchObject({ pageviews: 1 });
    proxies.link.goDown();
    expect((await ask('us', stats)).status).toBe(503);
    expect((await collect('us', sites.eu)).status).toBe(503);
    proxies.link.goUp();
  }
  expect(await cluster.storedIn('us', sites.eu)).toMatchObject({ pageviews: 0 });
});

test('a region that takes a connection and says nothing costs a sender ten seconds at most, and nobody else anything', async () => {
  proxies.link.hang();
  const hanging = collect('us', sites.eu);
  for (let i = 0; i < 10; i++) expect((await collect('us', sites.us)).status).toBe(200);
  expect((await hanging).status).toBe(503);
});

test('an event that waits while its region stands still has the time at which it came, and is stored once', async () => {
  await eventually(
    () => collect('us', sites.eu),
    ({ status }) => status === 200,
  );
  const sentAtMs = Date.now();
  cluster.pause('eu');
  const waiting = collect('us', sites.eu);
  const resumedAtMs = await new Promise((done) => setTimeout(done, 5_000)).then(Date.now);
  cluster.resume('eu');
  expect((await waiting).status).toBe(200);
  const [, event] = await loggedEvents(createApi(`${cluster.originOf('us')}/v1/eu`, key), sites.eu.id, 2, always());
  expect(Date.parse(event?.createdAt ?? '')).toBeGreaterThanOrEqual(sentAtMs - 1_000);
  expect(Date.parse(event?.createdAt ?? '')).toBeLessThan(resumedAtMs - 2_000);
});

test('while the registry is away from a region, it answers and collects from the replica, and refuses changes; the other one notices nothing', async () => {
  expect((await collect('eu', sites.eu)).status).toBe(200);
  proxies.registry.goDown();
  // Also a website that eu has never heard of.
  const created = (await ask('us', '/v1/us/websites', 'POST', { name: 'new', domain: 'new.example' })).body as Website;
  expect(created).toMatchObject({ name: 'new' });
  expect((await ask('eu', `/v1/eu/websites/${sites.eu.id}`)).body).toMatchObject({ id: sites.eu.id });
  expect((await collect('eu', sites.eu)).status).toBe(200);
  expect((await collect('eu', created)).status).toBe(200);
  const refused = await ask('eu', `/v1/eu/websites/${sites.eu.id}`, 'POST', { name: 'changed' });
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
  expect((await request('GET', `${cluster.originOf('eu')}/readyz`)).status).toBe(200);
  const stats = `/v1/eu/websites/${sites.eu.id}/stats?startAt=0&endAt=${Date.now() + 60_000}`;
  await eventually(
    () => ask('eu', stats),
    ({ body }) => (body as { pageviews?: number }).pageviews === 2,
  );
  proxies.registry.goUp();
  await eventually(
    () => ask('eu', `/v1/eu/websites/${sites.eu.id}`, 'POST', { name: 'changed' }),
    ({ status }) => status === 200,
  );
  expect(await cluster.untilStoredIn('us', created, 1)).toMatchObject({ pageviews: 1 });
});
