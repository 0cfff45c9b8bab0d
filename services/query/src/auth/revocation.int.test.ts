import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTwoProcesses } from '../two-processes-fixtures.ts';

const { api, other, close } = await createTwoProcesses();
type Account = Awaited<ReturnType<typeof api.newAccount>>;
let admin: Account;

beforeAll(async () => {
  admin = await api.newAccount('admin');
});
afterAll(close);

/** What access may outlive its end by, in other processes (docs/semantics.md "Changes of access"). */
const promisedMs = 2_000;

/**
 * Asks on until the answer has changed to `status`: a request that begins when the promised time is over must get it.
 */
async function untilAnswered(status: number, ask: () => Promise<{ status: number }>): Promise<void> {
  const deadlineMs = performance.now() + promisedMs;
  for (;;) {
    const isLate = performance.now() > deadlineMs;
    const answer = await ask();
    if (answer.status === status) return;
    expect(isLate, `still ${answer.status} after ${promisedMs} ms`).toBe(false);
    await pause(20);
  }
}

/** One account with all that it can have, and what it asks the other process with each credential. */
async function createWorld() {
  const account = await api.newAccount();
  const { token } = account;
  const { key, id: keyId } = await api.ok('POST', '/me/api-keys', { token, body: { name: 'ci' } });
  const website = await api.ok('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example' } });
  const share = await api.ok('POST', `/websites/${website.id}/shares`, { token, body: { name: 'For the board' } });
  const link = (await api.ok('GET', `/share/${share.slug}`)).token;
  return {
    ...{ account, keyId, website, share },
    byKey: () => other.call('GET', '/me', { token: key }),
    bySession: () => other.call('GET', '/me', { token }),
    byLink: () => other.call('GET', `/websites/${website.id}`, { headers: { 'x-umami-share-token': link } }),
    bySlug: () => other.call('GET', `/share/${share.slug}`),
  };
}
type World = Awaited<ReturnType<typeof createWorld>>;
type Way = 'byKey' | 'bySession' | 'byLink' | 'bySlug';

const update = ({ account, website }: World, body: object) =>
  api.ok('POST', `/websites/${website.id}`, { token: account.token, body });

const ends: [what: string, end: (world: World) => Promise<unknown>, refused: [Way, number][]][] = [
  [
    'a deleted key',
    ({ account, keyId }) => api.ok('DELETE', `/me/api-keys/${keyId}`, { token: account.token }),
    [['byKey', 401]],
  ],
  ['a logout', ({ account }) => api.ok('POST', '/auth/logout', { token: account.token }), [['bySession', 401]]],
  [
    'a new password',
    ({ account }) =>
      api.ok('POST', '/me/password', {
        token: account.token,
        body: { currentPassword: account.password, newPassword: 'a new password' },
      }),
    [['bySession', 401]],
  ],
  [
    'a new password that an administrator sets',
    ({ account }) =>
      api.ok('POST', `/users/${account.id}`, { token: admin.token, body: { password: 'a new password' } }),
    [['bySession', 401]],
  ],
  [
    'a deleted user',
    ({ account }) => api.ok('DELETE', `/users/${account.id}`, { token: admin.token }),
    [
      ['byKey', 401],
      ['bySession', 401],
      ['byLink', 401],
      ['bySlug', 404],
    ],
  ],
  [
    'a deleted link',
    ({ account, share }) => api.ok('DELETE', `/share/id/${share.id}`, { token: account.token }),
    [
      ['byLink', 401],
      ['bySlug', 404],
    ],
  ],
  [
    'a link with another slug',
    ({ account, share }) =>
      api.ok('POST', `/share/id/${share.id}`, { token: account.token, body: { slug: `s-${randomUUID()}` } }),
    [
      ['byLink', 401],
      ['bySlug', 404],
    ],
  ],
  [
    'a website that shares nothing more',
    (world) => update(world, { shareId: null }),
    [
      ['byLink', 401],
      ['bySlug', 404],
    ],
  ],
  [
    'a website with another share id',
    (world) => update(world, { shareId: `s-${randomUUID()}` }),
    [
      ['byLink', 401],
      ['bySlug', 404],
    ],
  ],
  [
    'a deleted website',
    ({ account, website }) => api.ok('DELETE', `/websites/${website.id}`, { token: account.token }),
    [
      ['byLink', 401],
      ['bySlug', 404],
    ],
  ],
];

describe('what one process ends, every other one refuses within two seconds', () => {
  test.each(ends)('%s', async (_what, end, refused) => {
    const world = await createWorld();
    const ways = ['byKey', 'bySession', 'byLink', 'bySlug'] as const;
    // Often enough that the other process remembers each answer.
    for (let i = 0; i < 10; i++) for (const way of ways) expect([way, (await world[way]()).status]).toEqual([way, 200]);
    await end(world);
    await Promise.all(refused.map(([way, status]) => untilAnswered(status, world[way])));
    const endedWays: Way[] = refused.map(([way]) => way);
    for (const way of ways.filter((known) => !endedWays.includes(known)))
      expect([way, (await world[way]()).status]).toEqual([way, 200]);
  });

  test('a membership of a team', async () => {
    const [owner, member] = [await api.newAccount(), await api.newAccount()];
    const teamId = await api.fixtures.newTeam([
      [owner, 'team-owner'],
      [member, 'team-member'],
    ]);
    const body = { name: 'Shop', domain: 'shop.example', teamId };
    const { id } = await api.ok('POST', '/websites', { token: owner.token, body });
    const { key } = await api.ok('POST', '/me/api-keys', { token: member.token, body: { name: 'ci' } });
    const asks = [member.token, key].map((token) => () => other.call('GET', `/websites/${id}/shares`, { token }));
    for (let i = 0; i < 10; i++) for (const ask of asks) expect((await ask()).status).toBe(200);
    await api.ok('DELETE', `/teams/${teamId}/users/${member.id}`, { token: owner.token });
    await Promise.all(asks.map((ask) => untilAnswered(404, ask)));
    expect((await other.call('GET', `/websites/${id}/shares`, { token: owner.token })).status).toBe(200);
  });
});
