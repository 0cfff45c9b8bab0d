import { UmamiClient } from '@umami/api-client';
import { Umami } from '@umami/node';
import { afterAll, expect, test } from 'vitest';
import { always, createWebsite, eventually, logIn } from '../api-client.ts';
import { loggedEvents, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

// The clients as their authors publish them, unchanged.
const meridian = await startMeridian();
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

async function clientWithKey(baseUrl = api): Promise<UmamiClient> {
  const { key } = await admin.ok<{ key: string }>('POST', '/me/api-keys', { name: 'client' });
  return new UmamiClient({ baseUrl, apiKey: key });
}

test('@umami/node: track(name, data), track(object) and identify(properties) of one process are one visitor', async () => {
  const website = await createWebsite(admin);
  const umami = new Umami({ hostUrl: meridian.origin, websiteId: website.id });
  for (const call of [
    () => umami.track({ url: '/home', title: 'Home', hostname: 'shop.example' }),
    () => umami.identify({ plan: 'pro', since: new Date(0) }),
    () => umami.track('signup', { plan: 'pro', seats: 3 }),
  ]) {
    const response = await call();
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ sessionId: expect.any(String), visitId: expect.any(String) });
  }
  const stats = await eventually(
    () => admin.get<{ pageviews: number; visitors: number }>(`/websites/${website.id}/stats`),
    (value) => value.pageviews === 1,
  );
  expect(stats).toMatchObject({ visitors: 1, visits: 1 });
  expect(await admin.get(`/websites/${website.id}/events`, { eventType: 2 })).toMatchObject({
    count: 1,
    data: [{ eventName: 'signup', hasData: true }],
  });
});

test('@umami/api-client with a key: websites are created, read, listed, changed and deleted', async () => {
  const client = await clientWithKey();
  const website = await client.createWebsite({ name: 'Client shop', domain: 'shop.example' });
  expect(await client.getWebsite({ websiteId: website.id })).toMatchObject({ name: 'Client shop' });
  expect(await client.listWebsites({ search: 'client SHOP' })).toMatchObject({ count: 1, data: [{ id: website.id }] });
  expect(await client.updateWebsite({ websiteId: website.id, name: 'Renamed' })).toMatchObject({ name: 'Renamed' });
  expect(await client.deleteWebsite({ websiteId: website.id })).toEqual({ ok: true });
  expect(await client.getWebsite({ websiteId: website.id })).toBeNull();
});

test('@umami/api-client send, batch (its object with number keys) and getWebsiteStats under /api and /v1/us', async () => {
  for (const base of [api, `${meridian.origin}/v1`, `${meridian.origin}/v1/us`]) {
    const client = await clientWithKey(base);
    const website = await createWebsite(admin);
    const event = (url: string) => ({
      type: 'event' as const,
      payload: { website: website.id, url, hostname: 'shop.example' },
    });
    expect(await client.send(event('/a'))).toMatchObject({ visitId: expect.any(String) });
    expect(await client.batch([event('/b'), event('/c')] as never)).toMatchObject({ size: 2, processed: 2, errors: 0 });
    const stats = await eventually(
      () => client.getWebsiteStats({ websiteId: website.id, ...always() }),
      (value) => value.pageviews === 3,
    );
    expect(stats).toMatchObject({ visitors: 1, visits: 1, bounces: 0 });
  }
});

test('@umami/api-client batch of 12 keeps its order, and one that is not all good tells which', async () => {
  const client = await clientWithKey();
  const website = await createWebsite(admin);
  const paths = Array.from({ length: 12 }, (_, i) => `/${i}`);
  const events = paths.map((url) => ({ type: 'event' as const, payload: { website: website.id, url } }));
  expect(await client.batch(events as never)).toMatchObject({ size: 12, processed: 12, details: [] });
  expect((await loggedEvents(admin, website.id, 12)).map((row) => row.urlPath)).toEqual(paths);
  expect(await client.batch([{ type: 'event', payload: {} }, events[0]] as never)).toMatchObject({
    processed: 1,
    errors: 1,
    details: [{ index: 0, response: { error: { code: 'bad-request', status: 400 } } }],
  });
});

test('@umami/api-client sends with any credential and with none, and reads why an event was refused', async () => {
  const website = await createWebsite(admin);
  const withKey = await clientWithKey();
  const clients = [
    new UmamiClient({ baseUrl: api }),
    new UmamiClient({ baseUrl: api, token: 'no token' }),
    new UmamiClient({ baseUrl: `${api}/`, token: 'no token', apiKey: 'no key' }),
    withKey.withToken('no token'),
  ];
  for (const client of clients)
    expect(await client.send({ type: 'event', payload: { website: website.id, url: '/' } })).toHaveProperty('cache');
  await expect
    .poll(() => statsOf(admin, website.id))
    .toMatchObject({ pageviews: clients.length, visitors: 1, visits: 1 });
  const refused = withKey.send({ type: 'event', payload: { website: 'undefined' } });
  await expect(refused).rejects.toMatchObject({
    status: 400,
    code: 'bad-request',
    message: expect.stringContaining('payload.website'),
  });
});

test('@umami/node with a User-Agent of its own: browser and system are those; reset() forgets only what identify() was told', async () => {
  const website = await createWebsite(admin);
  const userAgent =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
  const umami = new Umami({ hostUrl: meridian.origin, websiteId: website.id, userAgent });
  await umami.identify({ plan: 'pro' });
  umami.reset();
  await umami.track('opened');
  await umami.track({ url: '/app', name: 'closed', data: { at: new Date(0) }, tag: 'beta' });
  const rows = await loggedEvents(admin, website.id, 2);
  expect(rows).toMatchObject([
    { eventName: 'opened', urlPath: '', hostname: '', hasData: false, browser: 'Safari', os: 'iOS' },
    { eventName: 'closed', urlPath: '/app', tag: 'beta', hasData: true, device: 'mobile' },
  ]);
  expect(rows[0]?.sessionId).toBe(rows[1]?.sessionId);
});

test('@umami/api-client: segments and cohorts are created, listed, changed and deleted, and select', async () => {
  const client = await clientWithKey();
  const { id: websiteId } = await createWebsite(admin);
  for (const [url, visitor] of [
    ['/buy', 'a'],
    ['/thanks', 'a'],
    ['/thanks', 'b'],
  ] as const)
    await client.send({ type: 'event', payload: { website: websiteId, url, id: visitor, hostname: 'shop.example' } });
  const thanks = [{ name: 'path', operator: 'eq', value: '/thanks' }];
  const segment = await client.createWebsiteSegment({
    websiteId,
    type: 'segment',
    name: 'Thanks',
    parameters: { filters: thanks },
  });
  const cohort = await client.createWebsiteSegment({
    websiteId,
    type: 'cohort',
    name: 'Buyers',
    parameters: { filters: [], action: { type: 'path', value: '/buy' }, dateRange: '30day' },
  });
  const visitors = async (selection: object) => (await client.getWebsiteStats({ websiteId, ...selection })).visitors;
  await eventually(
    () => visitors({}),
    (count) => count === 2,
  );
  expect([await visitors({ segment: segment.id }), await visitors({ cohort: cohort.id })]).toEqual([2, 1]);
  const list = await client.getWebsiteSegments({ websiteId, type: 'cohort', search: 'BUY' });
  expect(list).toMatchObject({ count: 1, data: [{ id: cohort.id, name: 'Buyers' }] });
  const { id: segmentId } = segment;
  const renamed = { websiteId, segmentId, type: 'segment', name: 'Renamed', parameters: { filters: [] } } as const;
  expect(await client.updateWebsiteSegment(renamed)).toMatchObject({ name: 'Renamed' });
  expect(await client.getWebsiteSegment({ websiteId, segmentId })).toMatchObject({ name: 'Renamed' });
  expect(await client.deleteWebsiteSegment({ websiteId, segmentId })).toEqual({ ok: true });
});
