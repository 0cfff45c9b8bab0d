import { createHash, randomUUID } from 'node:crypto';
import { ApiKeyRecord, CreatedApiKey, MeAnswer } from '@meridian/contract/accounts';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createTestApi } from '../query-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
});
afterAll(() => api.close());

const newKey = (token: string) => api.ok('POST', '/me/api-keys', { token, body: { name: 'ci' } });
const status = async (token: string) => (await api.call('GET', '/websites', { token })).status;

test('a new key is shown once and stored only as its hash', async () => {
  const { token } = await api.newAccount();
  const created = await newKey(token);
  expect(CreatedApiKey.parse(created)).toEqual(created);
  expect(created).toMatchObject({ name: 'ci', lastUsedAt: null });
  const list = await api.ok('GET', '/me/api-keys', { token });
  expect(z.array(z.strictObject(ApiKeyRecord.shape)).parse(list)).toEqual(list);
  expect(JSON.stringify(list)).not.toContain(created.key);
  const stored = await api.fixtures.sql('SELECT * FROM api_key WHERE id = $1', [created.id]);
  expect(JSON.stringify(stored)).not.toContain(created.key.slice(created.keyPrefix.length));
});

test('label is an alias of name, which has 1 to 255 characters', async () => {
  const { token } = await api.newAccount();
  const create = (body: unknown) => api.call('POST', '/me/api-keys', { token, body });
  expect((await create({ label: 'from label' })).json.name).toBe('from label');
  expect((await create({ name: 'x'.repeat(255) })).status).toBe(200);
  for (const name of [undefined, null, '', '   ', 'x'.repeat(256), {}]) {
    const answer = await create({ name });
    expect([answer.status, Object.keys(answer.json.error.properties)]).toEqual([400, ['name']]);
  }
});

test('a key is accepted in either header and names its owner', async () => {
  const account = await api.newAccount();
  const { id, key } = await newKey(account.token);
  const expected = {
    authType: 'api-key',
    apiKey: { id, name: 'ci' },
    shareToken: null,
    user: { id: account.id, username: account.username, role: 'user', isAdmin: false },
  };
  expect(MeAnswer.parse(expected)).toEqual(expected);
  expect(await api.ok('GET', '/me', { token: key })).toEqual(expected);
  expect(await api.ok('GET', '/me', { headers: { 'x-umami-api-key': key } })).toEqual(expected);
  expect(await api.ok('GET', '/me', { token: key, headers: { 'x-umami-api-key': key } })).toEqual(expected);
  expect((await api.ok('GET', '/me', { token: account.token })).apiKey).toBeNull();
});

test('a key counts beside the token of a login proxy, which is none of ours; a session of ours comes before it', async () => {
  const [account, other] = [await api.newAccount(), await api.newAccount()];
  const { key } = await newKey(account.token);
  const me = async (bearer: string) => {
    const answer = await api.call('GET', '/me', {
      headers: { authorization: `Bearer ${bearer}`, 'x-umami-api-key': key },
    });
    return [answer.status, answer.json.user?.id];
  };
  expect(await me('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl')).toEqual([200, account.id]);
  expect(await me(other.token)).toEqual([200, other.id]);
});

test('use sets lastUsedAt', async () => {
  const { token } = await api.newAccount();
  const { key } = await newKey(token);
  await api.ok('GET', '/websites', { token: key });
  await vi.waitFor(async () => {
    const [listed] = await api.ok('GET', '/me/api-keys', { token });
    expect(listed.lastUsedAt).toMatch(/Z$/);
  });
});

test('a deleted key is refused at the next request; other keys and the session go on', async () => {
  const { token } = await api.newAccount();
  const [first, second] = [await newKey(token), await newKey(token)];
  expect(await status(first.key)).toBe(200);
  expect(await api.ok('DELETE', `/me/api-keys/${first.id}`, { token })).toEqual({ ok: true });
  expect(await Promise.all([first.key, second.key, token].map(status))).toEqual([401, 200, 200]);
});

test('a key manages keys, itself included', async () => {
  const { token } = await api.newAccount();
  const key = await newKey(token);
  const made = await newKey(key.key);
  expect(await api.ok('GET', '/me/api-keys', { token: key.key })).toHaveLength(2);
  await api.ok('DELETE', `/me/api-keys/${key.id}`, { token: key.key });
  expect(await Promise.all([key.key, made.key].map(status))).toEqual([401, 200]);
});

test('an unknown, foreign or malformed key id is 404 and deletes nothing', async () => {
  const [mine, theirs] = [await api.newAccount(), await api.newAccount()];
  const key = await newKey(theirs.token);
  for (const id of [key.id, randomUUID(), 'undefined', encodeURIComponent("' OR 1=1")])
    expect((await api.call('DELETE', `/me/api-keys/${id}`, { token: mine.token })).status).toBe(404);
  expect(await api.ok('GET', '/me/api-keys', { token: mine.token })).toEqual([]);
  expect(await status(key.key)).toBe(200);
});

test('a part of a key, its prefix, its hash and another letter case are no key', async () => {
  const { token } = await api.newAccount();
  const { id, key, keyPrefix } = await newKey(token);
  const hash = createHash('sha256').update(key).digest('hex');
  for (const other of [keyPrefix, key.slice(0, -1), `${key}x`, hash, id, key.toUpperCase(), key.toLowerCase()])
    expect(await status(other)).toBe(401);
});

test('passwords and users are out of reach for a key, even of an administrator; so is logout', async () => {
  const { token } = await api.newAccount('admin');
  const { key } = await newKey(token);
  for (const [method, path] of [
    ['POST', '/me/password'],
    ['POST', '/users'],
    ['GET', `/users/${randomUUID()}`],
    ['POST', `/users/${randomUUID()}`],
    ['DELETE', `/users/${randomUUID()}`],
    ['POST', '/auth/logout'],
  ] as const) {
    const answer = await api.call(method, path, { token: key, ...(method === 'POST' && { body: {} }) });
    expect([answer.status, answer.json.error.code], `${method} ${path}`).toEqual([403, 'forbidden']);
  }
});
