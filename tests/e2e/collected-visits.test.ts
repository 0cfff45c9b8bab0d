import { afterAll, describe, expect, test } from 'vitest';
import { type Answer, chrome, createWebsite, logIn } from '../api-client.ts';
import { accepted, loggedEvents, post, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

// Faults that others' collectors had with visits and visitors, each as the whole kind.
const meridian = await startMeridian({ FLUSH_MAX_WAIT_MS: '10' });
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

type Options = { type?: string; cache?: string | undefined };
const send = (payload: object, { type = 'event', cache }: Options = {}): Promise<Answer> =>
  post(
    `${api}/send`,
    {
      'user-agent': chrome,
      'content-type': 'application/json',
      ...(cache !== undefined && { 'x-umami-cache': cache }),
    },
    { type, payload },
  );
const seconds = (time: string) => Date.parse(time) / 1_000;

describe('a visit goes on over every border of the clock', () => {
  test.each([
    ['a full hour', '2026-06-10T10:58:00Z'],
    ['midnight', '2026-06-10T23:58:00Z'],
    ['the end of a month', '2026-05-31T23:58:00Z'],
    ['the end of a year', '2025-12-31T23:58:00Z'],
    ['the change to summer time', '2026-03-29T00:58:00Z'],
  ])('%s: two pages five minutes apart are one visit of 300 seconds and no bounce', async (_, start) => {
    const senders: [string, object, boolean][] = [
      ['with the token', {}, true],
      ['with an id', { id: 'reader' }, false],
      ['with both', { id: 'reader' }, true],
    ];
    for (const [how, who, keepsToken] of senders) {
      const website = await createWebsite(admin);
      const view = (url: string, timestamp: number, cache?: string) =>
        send({ website: website.id, hostname: 'shop.example', url, title: 't', timestamp, ...who }, { cache });
      const first = accepted(await view('/a', seconds(start)));
      const second = accepted(await view('/b', seconds(start) + 300, keepsToken ? first.cache : undefined));
      expect([second.sessionId, second.visitId], how).toEqual([first.sessionId, first.visitId]);
      await expect
        .poll(() => statsOf(admin, website.id), { message: how })
        .toEqual({ pageviews: 2, visitors: 1, visits: 1, bounces: 0, totaltime: 300 });
    }
  });

  test('an hour of a page every minute, whoever keeps no token, is one visit; so is the same hour sent backwards', async () => {
    const start = seconds('2026-06-10T10:30:00Z');
    const minutes = Array.from({ length: 61 }, (_, minute) => minute);
    for (const order of [minutes, minutes.toReversed()]) {
      const website = await createWebsite(admin);
      for (const minute of order)
        accepted(await send({ website: website.id, url: `/${minute}`, timestamp: start + 60 * minute }));
      await expect
        .poll(() => statsOf(admin, website.id))
        .toEqual({ pageviews: 61, visitors: 1, visits: 1, bounces: 0, totaltime: 3_600 });
    }
  });
});

describe('a visitor who becomes known within a visit', () => {
  const ways: [string, (website: string, cache: string) => Promise<string>][] = [
    [
      'by identify',
      async (website, cache) => accepted(await send({ website, id: 'user-42' }, { type: 'identify', cache })).cache,
    ],
    [
      'by identify with data',
      async (website, cache) =>
        accepted(await send({ website, id: 'user-42', data: { plan: 'pro' } }, { type: 'identify', cache })).cache,
    ],
    [
      'by an id on a page',
      async (website, cache) => accepted(await send({ website, id: 'user-42', url: '/login' }, { cache })).cache,
    ],
    [
      'by an id on an event',
      async (website, cache) => accepted(await send({ website, id: 'user-42', name: 'login' }, { cache })).cache,
    ],
    [
      'in a batch',
      async (website, cache) => {
        const elements = [{ type: 'identify', payload: { website, id: 'user-42' } }];
        const answer = await post(`${api}/batch`, { 'user-agent': chrome, 'x-umami-cache': cache }, elements);
        return (answer.body as { cache: string }).cache;
      },
    ],
  ];
  test.each(ways)(
    '%s stays one visitor and one visit, and what follows carries the id, sent again or not',
    async (_, identify) => {
      const website = await createWebsite(admin);
      const page = (fields: object, cache?: string) => send({ website: website.id, ...fields }, { cache });
      const anonymous = accepted(await page({ url: '/a' }));
      const cache = await identify(website.id, anonymous.cache);
      const withId = accepted(await page({ url: '/b', id: 'user-42' }, cache));
      const withoutId = accepted(await page({ url: '/c' }, withId.cache));
      expect([withId.visitId, withoutId.visitId]).toEqual([anonymous.visitId, anonymous.visitId]);
      expect(withoutId.sessionId).toBe(withId.sessionId);
      await expect.poll(() => statsOf(admin, website.id, { path: '/c' })).toMatchObject({ pageviews: 1 });
      expect(await statsOf(admin, website.id)).toMatchObject({ visitors: 1, visits: 1, bounces: 0 });
      const { pageviews } = await statsOf(admin, website.id, { distinctId: 'user-42' });
      const known = await loggedEvents(admin, website.id, pageviews, { distinctId: 'user-42', eventType: 1 });
      expect(known.map((row) => row.urlPath)).toEqual(expect.arrayContaining(['/b', '/c']));
      expect(known.map((row) => row.urlPath)).not.toContain('/a');
    },
  );

  test('without the token is not linked to anybody, and no answer is an error', async () => {
    const website = await createWebsite(admin);
    const page = (fields: object) => send({ website: website.id, ...fields });
    const anonymous = accepted(await page({ url: '/a' }));
    const identified = accepted(await send({ website: website.id, id: 'user-42' }, { type: 'identify' }));
    const known = accepted(await page({ url: '/b', id: 'user-42' }));
    expect(known.visitId).toBe(identified.visitId);
    expect(known.visitId).not.toBe(anonymous.visitId);
    await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 2, visitors: 2, visits: 2 });
  });

  test('by 20 requests at once is one visitor, and two who share a browser stay two', async () => {
    const website = await createWebsite(admin);
    const anonymous = accepted(await send({ website: website.id, url: '/a' }));
    const page = (id: string, url: string) => send({ website: website.id, id, url }, { cache: anonymous.cache });
    const first = (await Promise.all(Array.from({ length: 20 }, (_, i) => page('user-1', `/${i}`)))).map(accepted);
    expect(new Set(first.map((answer) => answer.visitId))).toEqual(new Set([anonymous.visitId]));
    const second = accepted(await page('user-2', '/b'));
    expect(second.visitId).not.toBe(anonymous.visitId);
    await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 22, visitors: 2, visits: 2 });
  });
});

test('a batch is worth what its elements are worth one by one, and its token is that of the last stored one', async () => {
  const pages = [
    { id: 'S1', url: '/a', timestamp: seconds('2026-06-10T10:00:00Z') },
    { id: 'S2', url: '/b', timestamp: seconds('2026-06-10T10:01:00Z') },
    { id: 'S1', url: '/c', timestamp: seconds('2026-06-10T10:02:00Z') },
  ];
  const [batched, single] = [await createWebsite(admin), await createWebsite(admin)];
  const elements = pages.map((page) => ({ type: 'event', payload: { website: batched.id, ...page } }));
  const answer = await post(`${api}/batch`, { 'user-agent': chrome }, [...elements, { type: 'event' }]);
  expect(answer.body).toMatchObject({ size: 4, processed: 3, errors: 1, ignored: 0 });
  const { cache } = answer.body as { cache: string };
  let last = '';
  for (const page of pages) last = accepted(await send({ website: single.id, ...page })).cache;

  // Without an id of its own an event goes on as whom the token names.
  for (const [website, token] of [
    [batched, cache],
    [single, last],
  ] as const)
    accepted(
      await send({ website: website.id, url: '/d', timestamp: seconds('2026-06-10T10:05:00Z') }, { cache: token }),
    );
  const expected = { pageviews: 4, visitors: 2, visits: 2, bounces: 1, totaltime: 300 };
  for (const { id } of [batched, single]) {
    await expect.poll(() => statsOf(admin, id)).toEqual(expected);
    const rows = await loggedEvents(admin, id, 4);
    expect(rows.map((row) => [row.urlPath, row.distinctId])).toEqual([
      ['/a', 'S1'],
      ['/b', 'S2'],
      ['/c', 'S1'],
      ['/d', 'S1'],
    ]);
  }
});
