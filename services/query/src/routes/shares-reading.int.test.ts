import { createHmac, randomUUID } from 'node:crypto';
import { MeAnswer } from '@meridian/contract/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forgeriesOf } from '../auth/token-fixtures.ts';
import { createQueryApp } from '../create-query-app.ts';
import { createQueryCounts } from '../query-counts.ts';
import type { Call } from '../query-fixtures.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;

beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

const june = 'startAt=1780272000000&endAt=1782863999999';
/** The question about each part of the statistics. */
const questions = [
  `/stats?${june}`,
  `/pageviews?${june}&unit=month`,
  `/metrics?${june}&type=path`,
  `/metrics/expanded?${june}&type=path`,
  `/events?${june}`,
  '/active',
];

/** A website with two events and a link, and what is asked by it. */
async function newShared(body: object = {}) {
  const site = await api.siteWith([
    { t: '10:00', urlPath: '/a' },
    { t: '10:05', urlPath: '/b' },
  ]);
  const { token } = api;
  const share = await api.ok('POST', `/websites/${site.id}/shares`, { token, body: { name: 'x', ...body } });
  const link: string = (await api.ok('GET', `/share/${share.slug}`)).token;
  const headers = { 'x-umami-share-token': link, 'x-umami-share-context': '1' };
  const ask = (method: string, path: string, options: Call = {}) => api.call(method, path, { headers, ...options });
  return { id: site.id, share, link, headers, ask };
}

const withToken = (link: string) => ({ headers: { 'x-umami-share-token': link } });

describe('the token of a link reads', () => {
  test('every statistic of its website, to the same numbers as its owner', async () => {
    const { id, ask, headers } = await newShared();
    for (const question of questions) {
      const answer = await ask('GET', `/websites/${id}${question}`);
      expect([question, answer.status]).toEqual([question, 200]);
      expect(answer.json).toEqual(await api.ok('GET', `/websites/${id}${question}`, { token: api.token }));
      const head = { method: 'HEAD', headers };
      expect(
        (await createQueryApp(api.deps).request(`/v1/us/websites/${id.toUpperCase()}${question}`, head)).status,
      ).toBe(200);
    }
    expect((await ask('GET', `/websites/${id}/stats?${june}`)).json).toMatchObject({ pageviews: 2 });
  });

  test('of the website itself its name and domain, and who it is', async () => {
    const { id, ask, share } = await newShared();
    expect((await ask('GET', `/websites/${id}`)).json).toEqual({ id, name: 'Shop', domain: 'shop.example' });
    const me = (await ask('GET', '/me')).json;
    expect(MeAnswer.parse(me)).toEqual(me);
    const shareToken = { shareType: 1, websiteId: id, parameters: share.parameters };
    expect(me).toEqual({ authType: 'share-token', apiKey: null, shareToken, user: null });
  });

  test('no event log where the link’s parameters say so', async () => {
    const { id, ask, share } = await newShared({ parameters: { overview: true, events: false } });
    for (const question of questions)
      expect((await ask('GET', `/websites/${id}${question}`)).status).toBe(question.startsWith('/events') ? 403 : 200);
    await api.ok('POST', `/share/id/${share.id}`, { token: api.token, body: { parameters: {} } });
    expect((await ask('GET', `/websites/${id}/events?${june}`)).status).toBe(200);
  });

  test('no other website: neither another one of its owner nor a stranger’s nor none', async () => {
    const [{ ask }, own] = [await newShared(), await newShared()];
    const theirs = await api.ok('POST', '/websites', {
      token: (await api.newAccount()).token,
      body: { name: 'Other', domain: 'other.example' },
    });
    for (const question of questions) {
      const answers = [];
      for (const id of [own.id, theirs.id, randomUUID(), 'x'])
        answers.push(await ask('GET', `/websites/${id}${question}`));
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
    for (const id of [own.id, theirs.id]) expect((await ask('GET', `/websites/${id}`)).json).toBeNull();
  });

  test('nothing that is not on its list, whatever routes there are', async () => {
    const { id, ask, share, headers } = await newShared();
    const allowed = [
      'GET /api/me',
      'GET /api/websites/:websiteId',
      ...questions.map((question) => `GET /api/websites/:websiteId${question.replace(/\?.*/, '')}`),
    ];
    const app = createQueryApp(api.deps);
    const routes = app.routes.filter(({ method }) => method !== 'ALL');
    const answered: string[] = [];
    for (const { method, path } of routes) {
      const target = path.replace(':websiteId', id).replace(':shareId', share.id).replace(/:\w+/g, randomUUID());
      const sent = method === 'GET' ? { method } : { method, body: '{}' };
      const isPublic = (await app.request(target, sent)).status !== 401;
      if (!isPublic && (await app.request(target, { ...sent, headers })).status !== 403)
        answered.push(`${method} ${path}`);
    }
    expect([...new Set(answered)].sort()).toEqual([...new Set(allowed)].sort());
    expect(routes.length).toBeGreaterThan(30);
    expect((await ask('GET', '/no/such/route')).status).toBe(403);
    expect((await ask('PUT', `/websites/${id}/stats`)).status).toBe(403);
    expect(await api.ok('GET', `/websites/${id}`, { token: api.token })).toMatchObject({ shareId: share.slug });
  });
});

describe('the token of a link counts', () => {
  test('in its own header only', async () => {
    const { id, link } = await newShared();
    const target = `/websites/${id}/stats?${june}`;
    for (const options of [
      { token: link },
      { headers: { 'x-umami-api-key': link } },
      { headers: { authorization: `Basic ${link}` } },
      { headers: { cookie: `x-umami-share-token=${link}` } },
    ])
      expect((await api.call('GET', target, options)).status).toBe(401);
    expect((await api.call('GET', `${target}&token=${link}&shareToken=${link}`)).status).toBe(401);
  });

  test('no slug and no id of a link counts for it', async () => {
    const { id, share } = await newShared();
    for (const text of [share.slug, share.id]) {
      expect((await api.call('GET', `/websites/${id}/stats`, withToken(text))).status).toBe(401);
      expect((await api.call('GET', `/websites/${id}/stats?shareId=${text}`, { token: text })).status).toBe(401);
    }
  });

  test('beside an account’s credential only for the page of the link', async () => {
    const { id, headers, link } = await newShared();
    const stranger = (await api.newAccount()).token;
    const target = `/websites/${id}/stats?${june}`;
    const beside = (token: string, more: Record<string, string>) => api.call('GET', target, { token, headers: more });
    expect((await beside(stranger, { 'x-umami-share-token': link })).status).toBe(404);
    expect((await beside(stranger, headers)).status).toBe(200);
    expect((await api.call('POST', `/websites/${id}`, { token: api.token, headers, body: { name: 'x' } })).status).toBe(
      403,
    );
  });

  test('not when it is forged', async () => {
    const { id, link } = await newShared();
    const secret = api.deps.config.appSecret;
    const key = createHmac('sha256', secret).update('share token').digest();
    const { genuine, forged, signed } = forgeriesOf(link, { key, secret, now: api.deps.now() });
    const target = `/websites/${id}/stats?${june}`;
    expect((await api.call('GET', target, withToken(genuine))).status).toBe(200);
    const other = await newShared();
    const claims = JSON.parse(Buffer.from(link.split('.')[1] ?? '', 'base64url').toString());
    const header = { alg: 'HS256', typ: 'share+jwt' };
    const unfit: typeof forged = [
      ['the website of another link', signed(header, { ...claims, website: other.id })],
      ['the link of another website', signed(header, { ...claims, sub: other.share.id })],
      ['the slug of another link', signed(header, { ...claims, slug: other.share.slug })],
      ['an unknown link', signed(header, { ...claims, sub: randomUUID() })],
      ['no website', signed(header, { ...claims, website: undefined })],
      ['no slug', signed(header, { ...claims, slug: undefined })],
    ];
    for (const [name, token] of [...forged, ...unfit])
      expect([name, (await api.call('GET', target, withToken(token))).status]).toEqual([name, 401]);
  });

  test('for 7 days', async () => {
    const { id, ask } = await newShared();
    const at = async (offsetMs: number) => {
      api.clock.offsetMs = offsetMs;
      const { status } = await ask('GET', `/websites/${id}`);
      api.clock.offsetMs = 0;
      return status;
    };
    expect([await at(7 * 86_400_000 - 60_000), await at(7 * 86_400_000)]).toEqual([200, 401]);
  });

  test('while its link exists, with the process that ended it not one request longer', async () => {
    const { token } = api;
    const ends: ((shared: Awaited<ReturnType<typeof newShared>>) => Promise<unknown>)[] = [
      ({ share }) => api.ok('DELETE', `/share/id/${share.id}`, { token }),
      ({ share }) => api.ok('POST', `/share/id/${share.id}`, { token, body: { slug: `s-${randomUUID()}` } }),
      ({ id }) => api.ok('POST', `/websites/${id}`, { token, body: { shareId: null } }),
      ({ id }) => api.ok('POST', `/websites/${id}`, { token, body: { shareId: `s-${randomUUID()}` } }),
      ({ id }) => api.ok('DELETE', `/websites/${id}`, { token }),
    ];
    for (const end of ends) {
      const shared = await newShared();
      const target = `/websites/${shared.id}/stats?${june}`;
      for (let i = 0; i < 5; i++) expect((await shared.ask('GET', target)).status).toBe(200);
      await end(shared);
      expect((await shared.ask('GET', target)).status).toBe(401);
      expect((await api.call('GET', `/share/${shared.share.slug}`)).status).toBe(404);
    }
  });

  test('on when the website changes in any other way, when a newer link is made, and when somebody else owns it', async () => {
    const { id, ask } = await newShared();
    const { token } = api;
    await api.ok('POST', `/websites/${id}`, { token, body: { name: 'New' } });
    await api.ok('POST', `/websites/${id}/shares`, { token, body: { name: 'Newer' } });
    const { id: userId } = await api.newAccount();
    await api.fixtures.sql('UPDATE website SET user_id = $1 WHERE id = $2', [userId, id]);
    expect((await ask('GET', `/websites/${id}/stats?${june}`)).status).toBe(200);
  });
});

test('links are not counted by the rate limit, also when a key comes beside', async () => {
  const { id, headers } = await newShared();
  const { key } = await api.ok('POST', '/me/api-keys', { token: api.token, body: { name: 'ci' } });
  for (const more of [headers, { ...headers, 'x-umami-api-key': String(key) }]) {
    const asked = Array.from({ length: 60 }, () => api.call('GET', `/websites/${id}`, { headers: more }));
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers[0]?.headers.has('ratelimit-limit')).toBe(false);
  }
});

test('the questions of all links of a website take turns as those of one account, apart from its owner’s', async () => {
  const { id, headers } = await newShared();
  const second = await api.ok('POST', `/websites/${id}/shares`, { token: api.token, body: { name: 'y' } });
  const secondLink = (await api.ok('GET', `/share/${second.slug}`)).token;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { warehouse } = api.deps;
  const getStats: typeof warehouse.getStats = async (question) => {
    await released;
    return warehouse.getStats(question);
  };
  const counts = createQueryCounts();
  const config = { ...api.deps.config, questionLimits: { perCaller: 2, inAll: 8, waitMaxMs: 60_000 } };
  const app = createQueryApp({ ...api.deps, config, counts, warehouse: { ...warehouse, getStats } });
  const ask = (sent: Record<string, string>) => app.request(`/api/websites/${id}/stats?${june}`, { headers: sent });
  const byLinks = [headers, { 'x-umami-share-token': secondLink }].flatMap((sent) => [ask(sent), ask(sent), ask(sent)]);
  await expect.poll(() => counts.questionsWaiting).toBe(4);
  const byOwner = [ask({ authorization: `Bearer ${api.token}` }), ask({ authorization: `Bearer ${api.token}` })];
  const third = ask({ authorization: `Bearer ${api.token}` });
  await expect.poll(() => counts.questionsWaiting).toBe(5);
  release();
  const statuses = (await Promise.all([...byLinks, ...byOwner, third])).map(({ status }) => status);
  expect(statuses).toEqual(Array(9).fill(200));
});

test('a page of another origin may send the headers of a link', async () => {
  const answer = await createQueryApp(api.deps).request('/api/websites/x/stats', { method: 'OPTIONS' });
  const allowed = answer.headers.get('access-control-allow-headers')?.split(', ');
  expect(allowed).toEqual(expect.arrayContaining(['x-umami-share-token', 'x-umami-share-context']));
});
