import { randomUUID } from 'node:crypto';
import { UserList, UserRecord } from '@meridian/contract/accounts';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestApi } from '../query-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
let admin: { id: string; username: string; password: string; token: string };

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  admin = await api.newAccount('admin');
});
afterAll(() => api.close());

const StrictUser = z.strictObject(UserRecord.shape);
const newName = () => `user-${randomUUID()}`;
const asAdmin = (method: string, path: string, body?: unknown) => api.call(method, path, { token: admin.token, body });
const login = (username: string, password: string) => api.call('POST', '/auth/login', { body: { username, password } });

describe('an administrator', () => {
  test('creates an account, which logs in, and reads it without its password', async () => {
    const body = { username: newName(), password: 'long enough', role: 'view-only' };
    const created = await asAdmin('POST', '/users', body);
    expect(created.status).toBe(200);
    expect(StrictUser.parse(created.json)).toMatchObject({ username: body.username, role: 'view-only' });
    expect((await asAdmin('GET', `/users/${created.json.id}`)).json).toEqual(created.json);
    expect((await login(body.username, body.password)).status).toBe(200);
  });

  test('may choose the id; a taken id and a taken name are 400', async () => {
    const id = randomUUID();
    const user = { id, username: newName(), password: 'long enough', role: 'user' };
    expect((await asAdmin('POST', '/users', user)).json.id).toBe(id);
    const [sameId, sameName] = [
      await asAdmin('POST', '/users', { ...user, username: newName() }),
      await asAdmin('POST', '/users', { ...user, id: null, username: user.username.toUpperCase() }),
    ];
    expect([sameId.status, Object.keys(sameId.json.error.properties)]).toEqual([400, ['id']]);
    expect([sameName.status, Object.keys(sameName.json.error.properties)]).toEqual([400, ['username']]);
  });

  test.each([
    {},
    { username: '', password: 'long enough', role: 'user' },
    { username: 'x'.repeat(256), password: 'long enough', role: 'user' },
    { username: 'ann', password: 'short', role: 'user' },
    { username: 'ann', password: 'x'.repeat(256), role: 'user' },
    { username: 'ann', password: 'long enough', role: 'superuser' },
    { username: 'ann', password: 'long enough', role: 'user', id: 'x' },
  ])('gets 400 for %j', async (body) => {
    expect((await asAdmin('POST', '/users', body)).status).toBe(400);
  });

  test('changes name, role and password; the password ends the sessions of that user', async () => {
    const user = await api.newAccount();
    const username = newName();
    const renamed = await asAdmin('POST', `/users/${user.id}`, { username, role: 'view-only', userId: admin.id });
    expect(renamed.json).toMatchObject({ id: user.id, username, role: 'view-only' });
    expect((await api.call('GET', '/me', { token: user.token })).json.user.role).toBe('view-only');
    await asAdmin('POST', `/users/${user.id}`, { password: 'another one' });
    expect((await api.call('GET', '/me', { token: user.token })).status).toBe(401);
    expect((await login(username, 'another one')).status).toBe(200);
  });

  test('deletes a user with session, key and websites', async () => {
    const user = await api.newAccount();
    const { key } = await api.ok('POST', '/me/api-keys', { token: user.token, body: { name: 'ci' } });
    const website = await api.ok('POST', '/websites', {
      token: user.token,
      body: { name: 'Shop', domain: 'shop.example' },
    });
    expect((await asAdmin('DELETE', `/users/${user.id}`)).json).toEqual({ ok: true });
    for (const token of [user.token, key]) expect((await api.call('GET', '/websites', { token })).status).toBe(401);
    const refused = await login(user.username, user.password);
    expect([refused.status, refused.json.error.code]).toEqual([401, 'incorrect-username-password']);
    expect((await asAdmin('GET', `/websites/${website.id}`)).json).toBeNull();
    expect((await asAdmin('DELETE', `/users/${user.id}`)).status).toBe(404);
  });

  test('cannot delete or demote itself, in whatever letter case its id is written', async () => {
    for (const id of [admin.id, admin.id.toUpperCase()]) {
      expect((await asAdmin('DELETE', `/users/${id}`)).status).toBe(400);
      expect((await asAdmin('POST', `/users/${id}`, { role: 'user' })).status).toBe(400);
    }
    expect((await api.ok('GET', '/me', { token: admin.token })).user.isAdmin).toBe(true);
  });

  test('gets 404 for an unknown or malformed id', async () => {
    for (const id of [randomUUID(), 'x', encodeURIComponent("' OR 1=1")])
      for (const [method, body] of [['GET'], ['POST', {}], ['DELETE']] as const)
        expect((await asAdmin(method, `/users/${id}`, body)).status).toBe(404);
  });

  test('lists the users in pages', async () => {
    const user = await api.newAccount();
    const list = (await asAdmin('GET', `/admin/users?search=${user.username.toUpperCase()}`)).json;
    expect(UserList.parse(list)).toEqual(list);
    expect(list).toMatchObject({ count: 1, page: 1, pageSize: 20, search: user.username.toUpperCase() });
    expect(StrictUser.parse(list.data[0]).id).toBe(user.id);
    expect((await asAdmin('GET', '/admin/users?page=0')).status).toBe(400);
  });
});

test('nobody else manages users: 403 whether they exist or not, before the body is looked at', async () => {
  const [user, other] = [await api.newAccount(), await api.newAccount()];
  for (const [method, path] of [
    ['POST', '/users'],
    ['GET', `/users/${other.id}`],
    ['GET', `/users/${randomUUID()}`],
    ['POST', `/users/${user.id}`],
    ['DELETE', `/users/${other.id}`],
    ['GET', '/admin/users'],
    ['GET', '/admin/websites'],
  ] as const) {
    const raw = method === 'POST' ? { raw: '{bad' } : {};
    expect((await api.call(method, path, { token: user.token, ...raw })).status, `${method} ${path}`).toBe(403);
  }
});
