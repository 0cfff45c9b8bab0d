import { randomUUID } from 'node:crypto';
import { WebsiteList, WebsiteRecord } from '@meridian/contract/websites';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';
import { websiteCalls } from '../website-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
let token: string;
let userId: string;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  ({ token, id: userId } = await api.newAccount());
});
afterAll(() => api.close());

const { create, newWebsite, update, read } = websiteCalls(() => ({ api, token }));

describe('creating', () => {
  test('answers the whole website with its defaults, and reading answers the same', async () => {
    const website = await newWebsite({ domain: 'https://shop.example/' });
    expect(WebsiteRecord.strict().parse(website)).toMatchObject({
      domain: 'shop.example',
      shareId: null,
      teamId: null,
      userId,
      createdBy: userId,
      recorderEnabled: false,
      user: { id: userId },
    });
    expect(await read(website.id)).toEqual(website);
  });

  test('a failed validation names the fields', async () => {
    const answer = await api.call('POST', '/websites', { token, body: {} });
    expect([answer.status, Object.keys(answer.json.error.properties)]).toEqual([400, ['name', 'domain']]);
  });

  test('names are stored as they are, without NUL', async () => {
    for (const name of ['Магазин 購物 😀', '<script>alert(1)</script>', '=1+1', "'; DROP TABLE website; --"])
      expect((await newWebsite({ name: `${name}\0` })).name).toBe(name);
    expect((await create({ name: '\0' })).status).toBe(400);
  });

  test('an id in use, own, foreign or deleted, is 400 and changes nothing', async () => {
    const [mine, theirs, gone] = [
      await newWebsite(),
      await newWebsite({}, (await api.newAccount()).token),
      await newWebsite(),
    ];
    await api.ok('DELETE', `/websites/${gone.id}`, { token });
    for (const { id } of [mine, theirs, gone]) {
      const answer = await create({ id: id.toUpperCase() });
      expect([answer.status, answer.json.error.message]).toEqual([400, 'Website ID already in use.']);
    }
    expect(await read(mine.id)).toEqual(mine);
  });

  test('of 50 parallel creates with one id, and with one share id, one wins', async () => {
    for (const body of [{ id: randomUUID() }, { shareId: randomUUID() }]) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => create(body)));
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      expect(answers.filter((answer) => answer.status === 400)).toHaveLength(49);
    }
  });
});

describe('updating', () => {
  test('changes only what is given, and updatedAt', async () => {
    const website = await newWebsite({ shareId: randomUUID() });
    const { status, json } = await update(website.id, { name: 'Renamed' });
    expect([status, json]).toEqual([200, { ...website, name: 'Renamed', updatedAt: expect.any(String) }]);
    expect(json.updatedAt).not.toBe(website.updatedAt);
    expect(await read(website.id)).toEqual(json);
  });

  test('no other field can be set, and no id in the body overrides the path', async () => {
    const [website, other] = [await newWebsite(), await newWebsite()];
    const forged = {
      id: other.id,
      websiteId: other.id,
      userId: randomUUID(),
      teamId: randomUUID(),
      createdBy: randomUUID(),
      createdAt: '2001-01-01T00:00:00Z',
      deletedAt: '2001-01-01T00:00:00Z',
      resetAt: '2001-01-01T00:00:00Z',
      recorderEnabled: true,
      name: 'mine',
    };
    const { json } = await update(website.id, forged);
    expect({ ...json, updatedAt: '' }).toEqual({ ...website, name: 'mine', updatedAt: '' });
    expect(await read(other.id)).toEqual(other);
  });

  test('a bad value, and a taken share id, change nothing', async () => {
    const shareId = randomUUID();
    await newWebsite({ shareId }, (await api.newAccount()).token);
    const website = await newWebsite();
    for (const body of [
      { name: '' },
      { name: null },
      { domain: 'a b' },
      { name: 'ok', shareId: '../x' },
      { name: 'ok', replayConfig: { sampleRate: 2 } },
      { name: 'ok', shareId },
      [],
      'x',
    ])
      expect((await update(website.id, body)).status).toBe(400);
    expect((await update(website.id, { shareId })).json.error.message).toBe('That share ID is already taken.');
    expect(await read(website.id)).toEqual(website);
  });

  test('replayConfig is merged, null resets it, and recorderEnabled follows', async () => {
    const website = await newWebsite();
    await update(website.id, { replayConfig: { sampleRate: 0.5, heatmapEnabled: true } });
    const merged = (await update(website.id, { replayConfig: { maskLevel: 'none' } })).json;
    expect(merged.replayConfig).toEqual({
      ...website.replayConfig,
      sampleRate: 0.5,
      heatmapEnabled: true,
      maskLevel: 'none',
    });
    expect(merged.recorderEnabled).toBe(true);
    const reset = (await update(website.id, { replayConfig: null })).json;
    expect([reset.replayConfig, reset.recorderEnabled]).toEqual([website.replayConfig, false]);
  });
});

describe('deleting', () => {
  test('answers ok; then the website reads as null, is in no list and cannot be deleted again', async () => {
    const account = await api.newAccount();
    const { id } = await newWebsite({}, account.token);
    expect(await api.ok('DELETE', `/websites/${id}`, { token: account.token })).toEqual({ ok: true });
    expect(await read(id, account.token)).toBeNull();
    expect((await api.ok('GET', '/websites', { token: account.token })).count).toBe(0);
    expect((await api.call('DELETE', `/websites/${id}`, { token: account.token })).status).toBe(404);
    expect(await api.deps.registry.listUnpurgedWebsites('us')).toContain(id);
  });

  test('of 10 parallel deletes one is answered with ok', async () => {
    const { id } = await newWebsite();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.call('DELETE', `/websites/${id}`, { token })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(9);
  });
});

test('a reset sets resetAt and keeps the website', async () => {
  const website = await newWebsite();
  expect(await api.ok('POST', `/websites/${website.id}/reset`, { token })).toEqual({ ok: true });
  const reset = await read(website.id);
  expect(reset).toEqual({ ...website, resetAt: expect.any(String) });
});

test('a list answers what was applied, in the shape of the contract, under both addresses', async () => {
  const account = await api.newAccount();
  for (const name of ['b', 'a', 'c']) await newWebsite({ name }, account.token);
  const query = '?orderBy=createdAt&sortDescending=true&pageSize=2&maxResults=3&search=SHOP';
  for (const path of ['/websites', '/me/websites']) {
    const list = await api.ok('GET', path + query, { token: account.token });
    expect(WebsiteList.parse(list)).toEqual(list);
    expect(list).toMatchObject({ count: 3, page: 1, pageSize: 2, orderBy: 'createdAt', search: 'SHOP' });
    expect(list.data.map((website: WebsiteRecord) => website.name)).toEqual(['c', 'a']);
  }
  for (const bad of ['page=0', 'pageSize=1.5', 'orderBy=password', 'orderBy=__proto__', 'maxResults=-1'])
    expect((await api.call('GET', `/websites?${bad}`, { token: account.token })).status, bad).toBe(400);
});
