import { createHash, createHmac, randomUUID } from 'node:crypto';
import { LoginAnswer, Profile, UserRecord } from '@meridian/contract/accounts';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { verifyPassword } from '@meridian/registry/credentials';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';
import { provePassword } from './prove-password.ts';
import { forgeriesOf, tokenParts } from './token-fixtures.ts';

vi.mock('@meridian/registry/credentials', { spy: true });

const trustedProxy = '10.0.0.1';
let api: Awaited<ReturnType<typeof createTestApi>>;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  const stores = { postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' };
  api = await createTestApi(stores, { trustedProxies: [trustedProxy] });
});
afterAll(() => api.close());

const login = (username: unknown, password: unknown) =>
  api.call('POST', '/auth/login', { body: { username, password } });

describe('login', () => {
  test('answers a token and the profile; the name may be written in any letter case', async () => {
    const account = await api.newAccount();
    const answer = await login(account.username.toUpperCase(), account.password);
    expect(answer.status).toBe(200);
    expect(LoginAnswer.parse(answer.json)).toEqual(answer.json);
    expect(answer.json.user).toMatchObject({ id: account.id, role: 'user', isAdmin: false, teams: [] });
  });

  test('a wrong password and an unknown user get the same answer, after one check of a password each', async () => {
    const account = await api.newAccount();
    const checks = vi.mocked(verifyPassword).mockClear();
    const [wrong, unknown] = [await login(account.username, 'wrong'), await login('nobody', 'wrong')];
    expect(wrong.status).toBe(401);
    expect(wrong.json.error.code).toBe('incorrect-username-password');
    expect(unknown).toMatchObject({ status: 401, text: wrong.text });
    expect(checks.mock.calls).toEqual([
      [expect.any(String), 'wrong'],
      [undefined, 'wrong'],
    ]);
  });

  test.each([
    {},
    { username: 'x' },
    { password: 'x' },
    { username: {}, password: 'x' },
    { username: ['a'], password: { $ne: '' } },
    [],
    null,
  ])('%j is refused as 400', async (body) => {
    expect((await api.call('POST', '/auth/login', { body })).status).toBe(400);
  });

  test('10 failures: then 429 with Retry-After, for the right password too; other users are not affected', async () => {
    const [account, other] = [await api.newAccount(), await api.newAccount()];
    for (let i = 0; i < 10; i++) expect((await login(account.username, 'wrong')).status).toBe(401);
    const refused = await login(account.username.toUpperCase(), account.password);
    expect(refused.status).toBe(429);
    expect(refused.json.error.code).toBe('rate-limited');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(14 * 60);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(15 * 60);
    expect((await login(other.username, other.password)).status).toBe(200);
  });

  test('failures count per address: somebody else elsewhere does not lock a user out', async () => {
    const { username, password } = await api.newAccount();
    const from = (address: string, guess: string) =>
      api.call('POST', '/auth/login', { body: { username, password: guess }, address });
    for (let i = 0; i < 10; i++) await from('203.0.113.7', 'wrong');
    expect((await from('203.0.113.7', password)).status).toBe(429);
    expect((await from('203.0.113.8', password)).status).toBe(200);
  });

  test('behind a trusted proxy clients do not lock each other out; a header of anybody else changes nothing', async () => {
    const { username, password } = await api.newAccount();
    const from = (peer: string, forwarded: string, guess: string) =>
      api.call('POST', '/auth/login', {
        body: { username, password: guess },
        address: peer,
        headers: { 'x-forwarded-for': forwarded },
      });
    for (let i = 0; i < 10; i++) await from(trustedProxy, '203.0.113.7', 'wrong');
    expect((await from(trustedProxy, `192.0.2.1, 203.0.113.7`, password)).status).toBe(429);
    expect((await from(trustedProxy, '203.0.113.8', password)).status).toBe(200);

    for (let i = 0; i < 10; i++) await from('198.51.100.9', `192.0.2.${i}`, 'wrong');
    expect((await from('198.51.100.9', '192.0.2.10', password)).status).toBe(429);
    expect((await from('198.51.100.9', '203.0.113.8', password)).status).toBe(429);
    expect((await from(trustedProxy, '203.0.113.8', password)).status).toBe(200);
  });

  test('of 50 guesses in parallel 10 are looked at, the others are refused', async () => {
    const { username } = await api.newAccount();
    const answers = await Promise.all(Array.from({ length: 50 }, () => login(username, 'wrong')));
    expect(answers.filter((answer) => answer.status === 401)).toHaveLength(10);
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(40);
  });

  test('50 logins in parallel with the right password all succeed, also after 9 failures', async () => {
    const { username, password } = await api.newAccount();
    for (let i = 0; i < 9; i++) await login(username, 'wrong');
    const answers = await Promise.all(Array.from({ length: 50 }, () => login(username, password)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(200));
  });

  test('a password that could not be checked is no failure', async () => {
    const { username, password } = await api.newAccount();
    const registry = { ...api.deps.registry, findUserByUsername: () => Promise.reject(new Error('away')) };
    const claim = { username, password, address: '203.0.113.7' };
    for (let i = 0; i < 11; i++) await expect(provePassword({ ...api.deps, registry }, claim)).rejects.toThrow('away');
    expect(await provePassword(api.deps, claim)).toMatchObject({ username });
  });

  test('a success forgets the failures before it', async () => {
    const account = await api.newAccount();
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 9; i++) expect((await login(account.username, 'wrong')).status).toBe(401);
      expect((await login(account.username, account.password)).status).toBe(200);
    }
  });
});

describe('a session', () => {
  test('is verified by POST and by GET, with the teams of the caller', async () => {
    const account = await api.newAccount();
    const teamId = await api.fixtures.newTeam([[account, 'team-member']], 'Alpha');
    for (const method of ['POST', 'GET']) {
      const profile = await api.ok(method, '/auth/verify', { token: account.token });
      expect(Profile.parse(profile)).toEqual(profile);
      expect(profile).toMatchObject({ id: account.id, teams: [{ id: teamId, name: 'Alpha', logoUrl: null }] });
    }
  });

  test('ends by logout; the other sessions of the user go on', async () => {
    const account = await api.newAccount();
    const other = (await login(account.username, account.password)).json.token;
    expect(await api.ok('POST', '/auth/logout', { token: account.token })).toEqual({ ok: true });
    expect((await api.call('GET', '/me', { token: account.token })).status).toBe(401);
    expect((await api.call('GET', '/me', { token: other })).status).toBe(200);
  });

  test('expires after 7 days', async () => {
    const { token } = await api.newAccount();
    api.clock.offsetMs = 7 * 86_400_000 - 60_000;
    const before = await api.call('GET', '/me', { token });
    api.clock.offsetMs = 7 * 86_400_000;
    const after = await api.call('GET', '/me', { token });
    api.clock.offsetMs = 0;
    expect([before.status, after.status]).toEqual([200, 401]);
  });

  test('a new password ends all of them, and only the new one logs in', async () => {
    const account = await api.newAccount();
    const other = (await login(account.username, account.password)).json.token;
    const body = { currentPassword: account.password, newPassword: 'a new password' };
    const changed = await api.ok('POST', '/me/password', { token: account.token, body });
    expect(UserRecord.parse(changed)).toEqual(changed);
    for (const token of [account.token, other]) expect((await api.call('GET', '/me', { token })).status).toBe(401);
    expect((await login(account.username, account.password)).status).toBe(401);
    const next = await login(account.username, 'a new password');
    expect((await api.call('GET', '/me', { token: next.json.token })).status).toBe(200);
  });

  test('the password stays with a wrong current one, and with a new one outside 8 to 255 characters', async () => {
    const { token, username, password } = await api.newAccount();
    for (const body of [
      { currentPassword: 'wrong', newPassword: 'long enough' },
      { currentPassword: password, newPassword: 'short' },
      { currentPassword: password, newPassword: 'x'.repeat(256) },
      { currentPassword: password },
    ])
      expect((await api.call('POST', '/me/password', { token, body })).status).toBe(400);
    expect((await login(username, password)).status).toBe(200);
  });
});

describe('credentials', () => {
  test('none, a wrong one and another kind are 401 with WWW-Authenticate on every route, before any validation', async () => {
    const { token } = await api.newAccount();
    const cacheLike = token.split('.').slice(0, 2).concat('x').join('.');
    for (const [method, path] of [
      ['GET', '/websites'],
      ['POST', '/websites'],
      ['GET', `/websites/${randomUUID()}`],
      ['POST', `/websites/${randomUUID()}/reset`],
      ['GET', '/me'],
      ['GET', '/me/api-keys'],
      ['POST', '/me/password'],
      ['POST', '/auth/verify'],
      ['POST', '/users'],
      ['GET', '/admin/users'],
    ] as const)
      for (const given of [undefined, 'undefined', cacheLike, 'mrd_x', createHash('sha256').digest('hex')]) {
        const raw = method === 'POST' ? { raw: '{bad' } : {};
        const answer = await api.call(method, path, { token: given, ...raw });
        expect([answer.status, answer.json.error.code], `${method} ${path}`).toEqual([401, 'unauthorized']);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
  });

  test('a forged session token is 401, and so is that of a deleted user', async () => {
    const { token, id } = await api.newAccount();
    const secret = api.deps.config.appSecret;
    const key = createHmac('sha256', secret).update('session token').digest();
    const { genuine, forged, signed } = forgeriesOf(token, { key, secret, now: api.deps.now() });
    expect((await api.call('GET', '/me', { token: genuine })).status).toBe(200);
    const { header, claims } = tokenParts(token);
    const unfit: typeof forged = [
      ['sub of another user', signed(header, { ...claims, sub: randomUUID() })],
      ['an older password', signed(header, { ...claims, gen: Number(claims.gen) - 1 })],
      ['a later password', signed(header, { ...claims, gen: Number(claims.gen) + 1 })],
    ];
    for (const [name, text] of [...forged, ...unfit])
      expect([name, (await api.call('GET', '/me', { token: text })).status]).toEqual([name, 401]);
    await api.ok('DELETE', `/users/${id}`, { token: (await api.newAccount('admin')).token });
    for (const text of [token, genuine]) expect((await api.call('GET', '/me', { token: text })).status).toBe(401);
  });

  test('login and verify do not exist on cloud, where only keys count', async () => {
    const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
    const cloud = await createTestApi(
      { postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' },
      { mode: 'cloud' },
    );
    const { token } = await api.newAccount();
    for (const path of ['/auth/login', '/auth/verify', '/auth/logout'])
      expect((await cloud.call('POST', path, { body: { username: 'a', password: 'b' } })).status).toBe(404);
    expect((await cloud.call('GET', '/websites', { token })).status).toBe(401);
    await cloud.close();
  });
});
