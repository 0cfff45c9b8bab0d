import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { chrome, eventually, request, type Website } from '../api-client.ts';
import { createTwoRegions, type Region, regions } from '../two-regions.ts';

const cluster = await createTwoRegions();
const { originOf, createIn, storedIn, untilStoredIn } = cluster;
/** Of accounts that live in either region; of each test its own, since each has 50 requests. */
let keys: Record<Region, string>;

beforeEach(async () => {
  keys = { us: await cluster.newKey('us'), eu: await cluster.newKey('eu') };
});
afterAll(cluster.stop);

const ask = (at: Region, path: string, key: string, method = 'GET', body?: unknown) =>
  request(method, `${originOf(at)}${path}`, {
    headers: { authorization: `Bearer ${key}` },
    ...(body !== undefined && { body }),
  });

const collect = (at: Region, route: 'send' | 'batch', body: unknown, headers: Record<string, string> = {}) =>
  request('POST', `${originOf(at)}/api/${route}`, { headers: { 'user-agent': chrome, ...headers }, body });

const pageview = (website: Website, url: string) => ({ type: 'event', payload: { website: website.id, url } });

test('a region that the address names serves the request, whichever region it came to, and answers for what is stored there alone', async () => {
  const created = await ask('us', '/v1/eu/websites', keys.us, 'POST', { name: 'EU', domain: 'eu.example' });
  expect([created.status, created.headers.get('x-region')]).toEqual([200, 'eu']);
  const { id } = created.body as Website;
  for (const at of regions) {
    const found = await ask(at, `/v1/eu/websites/${id}`, keys.us);
    expect([found.headers.get('x-region'), found.body]).toEqual(['eu', created.body]);
    expect((await ask(at, '/v1/eu/websites', keys.us)).body).toMatchObject({ count: 1, data: [{ id }] });
    const elsewhere = await ask(at, `/v1/us/websites/${id}`, keys.us);
    expect([elsewhere.headers.get('x-region'), elsewhere.status, elsewhere.body]).toEqual(['us', 200, null]);
    expect((await ask(at, '/v1/us/websites', keys.us)).body).toMatchObject({ count: 0 });
    const unknown = await ask(at, `/v1/us/websites/${randomUUID()}/stats?startAt=0&endAt=1`, keys.us);
    const foreign = await ask(at, `/v1/us/websites/${id}/stats?startAt=0&endAt=1`, keys.us);
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect((await ask(at, '/v1/xx/websites', keys.us)).status).toBe(404);
  }
});

test('an address that names no region is served by the home region of the key, as if it were named', async () => {
  for (const home of regions) {
    const { id } = await createIn(home, keys[home]);
    for (const at of regions) {
      const list = await ask(at, '/v1/websites', keys[home]);
      expect([list.headers.get('x-region'), list.body]).toMatchObject([home, { count: 1, data: [{ id }] }]);
      const created = await ask(at, '/v1/websites', keys[home], 'POST', { name: 'x', domain: 'x.example' });
      expect([created.headers.get('x-region'), created.status]).toEqual([home, 200]);
      const deleted = await ask(at, `/v1/websites/${(created.body as Website).id}`, keys[home], 'DELETE');
      expect([deleted.headers.get('x-region'), deleted.body]).toEqual([home, { ok: true }]);
    }
  }
});

test('errors, unknown routes, refused bodies and request ids come back through another region as they are', async () => {
  for (const [method, path, body, region = 'eu'] of [
    ['GET', '/v1/eu/nothing', undefined],
    ['PUT', '/v1/eu/websites', {}],
    ['POST', '/v1/eu/websites', { name: '' }],
    ['POST', '/v1/eu/websites', { name: 'x'.repeat(2_000_000), domain: 'a.example' }, 'us'],
  ] as const) {
    const [through, direct] = [
      await ask('us', path, keys.us, method, body),
      await ask('eu', path, keys.us, method, body),
    ];
    expect([through.status, through.text, through.headers.get('x-region')]).toEqual([
      direct.status,
      direct.text,
      region,
    ]);
    expect(through.headers.get('allow')).toBe(direct.headers.get('allow'));
  }
  const headers = { authorization: `Bearer ${keys.us}`, 'x-request-id': 'my-id.42' };
  const answer = await request('GET', `${originOf('us')}/v1/eu/me`, { headers });
  expect([answer.headers.get('x-request-id'), answer.status]).toEqual(['my-id.42', 200]);
  expect((await ask('us', '/v1/eu/me', 'mrd_unknown')).status).toBe(401);
});

test('any region takes the events of any website, and only its own region stores them: the same visitor and visit wherever they are sent', async () => {
  const website = await createIn('eu', keys.eu);
  const first = await collect('us', 'send', pageview(website, '/a'));
  const second = await collect('eu', 'send', pageview(website, '/b'));
  const { cache } = first.body as { cache: string };
  const third = await collect('us', 'send', pageview(website, '/c'), { 'x-umami-cache': cache });
  expect([first.status, second.status, third.status]).toEqual([200, 200, 200]);
  const ofVisit = (answer: typeof first) => {
    const { sessionId, visitId } = answer.body as { sessionId: string; visitId: string };
    return [sessionId, visitId];
  };
  expect([ofVisit(second), ofVisit(third)]).toEqual([ofVisit(first), ofVisit(first)]);
  expect(await untilStoredIn('eu', website, 3)).toMatchObject({ pageviews: 3, visits: 1, visitors: 1 });
  expect(await storedIn('us', website)).toMatchObject({ pageviews: 0 });
});

test('the elements of a batch go where their websites are; indexes, reasons and the token are those of the whole', async () => {
  const [us, eu] = [await createIn('us', keys.us), await createIn('eu', keys.us)];
  const unknown = { ...us, id: randomUUID() };
  const body = [
    pageview(eu, '/0'),
    pageview(us, '/1'),
    { type: 'no such type' },
    pageview(unknown, '/3'),
    pageview(eu, '/4'),
    { type: 'event', payload: { website: eu.id, url: '/5', userAgent: 'Googlebot/2.1' } },
    pageview(eu, '/6'),
  ];
  for (const at of regions) {
    const answer = await collect(at, 'batch', body);
    expect(answer.body).toMatchObject({ size: 7, processed: 4, errors: 2, ignored: 1 });
    const { details, ignoredDetails, cache } = answer.body as {
      details: { index: number }[];
      ignoredDetails: { index: number }[];
      cache: string;
    };
    expect([details.map(({ index }) => index), ignoredDetails.map(({ index }) => index)]).toEqual([[2, 3], [5]]);
    const next = await collect(at, 'send', pageview(eu, '/next'), { 'x-umami-cache': cache });
    expect(next.status).toBe(200);
  }
  expect(await untilStoredIn('eu', eu, 8)).toMatchObject({ pageviews: 8, visits: 1 });
  expect(await untilStoredIn('us', us, 2)).toMatchObject({ pageviews: 2 });
  expect([await storedIn('us', eu), await storedIn('eu', us)]).toMatchObject([{ pageviews: 0 }, { pageviews: 0 }]);
});

test('a batch that is repeated under its key is stored once in every region', async () => {
  const [us, eu] = [await createIn('us', keys.us), await createIn('eu', keys.us)];
  const headers = { 'idempotency-key': randomUUID() };
  const body = [pageview(us, '/1'), pageview(eu, '/2'), pageview(us, '/3'), pageview(eu, '/4')];
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await collect('us', 'batch', body, headers));
  expect(answers.map(({ body: told }) => told)).toMatchObject(answers.map(() => ({ processed: 4, errors: 0 })));
  expect((await collect('us', 'batch', [pageview(us, '/1'), pageview(eu, '/other')], headers)).status).toBe(422);
  expect(await untilStoredIn('eu', eu, 2)).toMatchObject({ pageviews: 2 });
  expect(await untilStoredIn('us', us, 2)).toMatchObject({ pageviews: 2 });
});

test('a batch that comes again under its key at another region is stored once in every region, and answered as at first', async () => {
  const [us, eu] = [await createIn('us', keys.us), await createIn('eu', keys.us)];
  const body = [
    pageview(us, '/1'),
    pageview(eu, '/2'),
    { type: 'no such type' },
    pageview(us, '/3'),
    pageview(eu, '/4'),
  ];
  for (const order of [regions, regions.toReversed()]) {
    const headers = { 'idempotency-key': randomUUID() };
    const answers = [];
    for (const at of [...order, ...order]) answers.push(await collect(at, 'batch', body, headers));
    expect(answers[0]).toMatchObject({ status: 200, body: { size: 5, processed: 4, details: [{ index: 2 }] } });
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  }
  for (const [region, website] of [
    ['us', us],
    ['eu', eu],
  ] as const) {
    await collect(region, 'send', pageview(website, '/last'));
    expect(await untilStoredIn(region, website, 5)).toMatchObject({ pageviews: 5 });
  }
});

test('50 requests of a key in 15 seconds are served, by whichever region and address they come', async () => {
  const key = keys.eu;
  const paths = ['/v1/websites', '/v1/us/websites', '/v1/eu/websites', '/api/websites'];
  const asked = Array.from({ length: 80 }, (_, i) => ask(regions[i % 2] ?? 'us', paths[i % 4] ?? '', key));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect([
    statuses.filter((status) => status === 200).length,
    statuses.filter((status) => status === 429).length,
  ]).toEqual([50, 30]);
});

test('a key that is deleted in one region is refused by the other', async () => {
  expect((await ask('eu', '/v1/eu/me', keys.us)).status).toBe(200);
  const [{ id } = { id: '' }] = (await ask('us', '/v1/us/me/api-keys', keys.us)).body as { id: string }[];
  expect((await ask('us', `/v1/us/me/api-keys/${id}`, keys.us, 'DELETE')).status).toBe(200);
  await eventually(
    () => ask('eu', '/v1/eu/me', keys.us),
    ({ status }) => status === 401,
  );
});

test('a request that says that another region hands it on, and cannot show it, is served by nobody', async () => {
  const website = await createIn('eu', keys.eu);
  const forged = `us,${Date.now()},0,203.0.113.99,${'A'.repeat(43)}`;
  for (const at of regions) {
    expect((await collect(at, 'send', pageview(website, '/b'), { 'x-meridian-peer': forged })).status).toBe(503);
    const headers = { authorization: `Bearer ${keys.eu}`, 'x-meridian-peer': forged };
    for (const path of ['/v1/us/me', '/v1/eu/me', '/v1/me', '/api/me'])
      expect((await request('GET', `${originOf(at)}${path}`, { headers })).status, path).toBe(503);
  }
  expect((await ask('us', `/peer/rate-limit/${randomUUID()}`, keys.us, 'POST')).status).toBe(404);
});

test('while a region is away the other one serves its own, says 503 for the rest at once, and nothing goes to the wrong region', async () => {
  const [us, eu] = [await createIn('us', keys.us), await createIn('eu', keys.us)];
  await collect('us', 'send', pageview(eu, '/before'));
  await untilStoredIn('eu', eu, 1);
  await cluster.kill('eu');
  try {
    for (const path of [`/v1/eu/websites/${eu.id}`, '/v1/eu/websites']) {
      const answer = await ask('us', path, keys.us);
      expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true]);
    }
    expect((await ask('us', '/v1/websites', keys.eu)).status).toBe(503);
    expect((await ask('us', `/v1/us/websites/${us.id}`, keys.us)).status).toBe(200);
    // Its counter is away, and that is no outage of what it asks for.
    expect((await ask('us', '/v1/us/me', keys.eu)).status).toBe(200);

    expect((await collect('us', 'send', pageview(us, '/us'))).status).toBe(200);
    expect((await collect('us', 'send', pageview(eu, '/lost'))).status).toBe(503);
    const mixed = await collect('us', 'batch', [pageview(eu, '/lost'), pageview(us, '/us')]);
    expect(mixed.body).toMatchObject({
      processed: 1,
      errors: 1,
      details: [{ index: 0, response: { error: { status: 503 } } }],
    });
    const repeatable = { 'idempotency-key': randomUUID() };
    const batch = [pageview(us, '/once'), pageview(eu, '/once')];
    expect((await collect('us', 'batch', batch, repeatable)).status).toBe(503);
    await cluster.start('eu');
    expect(
      await eventually(
        () => collect('us', 'batch', batch, repeatable),
        ({ status }) => status === 200,
      ),
    ).toMatchObject({ body: { processed: 2 } });
  } finally {
    if (!cluster.isRunning('eu')) await cluster.start('eu');
  }
  expect(await untilStoredIn('us', us, 3)).toMatchObject({ pageviews: 3 });
  expect(await untilStoredIn('eu', eu, 2)).toMatchObject({ pageviews: 2 });
  expect(await storedIn('us', eu)).toMatchObject({ pageviews: 0 });
});
