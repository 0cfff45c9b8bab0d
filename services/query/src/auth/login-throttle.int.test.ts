import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { createTwoProcesses } from '../two-processes-fixtures.ts';
import { throttleLogin } from './login-throttle.ts';

const { api, other, close } = await createTwoProcesses();
afterAll(close);

const login = (at: Pick<typeof api, 'call'>, username: string, password: string, address: string) =>
  at.call('POST', '/auth/login', { body: { username, password }, address });
const [here, elsewhere] = ['203.0.113.7', '203.0.113.8'];

test('10 failures, whichever processes saw them, close a name for their address in every process, for the right password too', async () => {
  const [account, unconcerned] = [await api.newAccount(), await api.newAccount()];
  for (let i = 0; i < 10; i++)
    expect((await login(i % 2 ? api : other, account.username, 'wrong', here)).status).toBe(401);
  for (const at of [api, other]) {
    const refused = await login(at, account.username, account.password, here);
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate-limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(14 * 60);
    expect((await login(at, account.username, account.password, elsewhere)).status).toBe(200);
    expect((await login(at, unconcerned.username, unconcerned.password, here)).status).toBe(200);
  }
});

test('of 40 guesses sent to two processes at once 10 are looked at', async () => {
  const { username, password } = await api.newAccount();
  const guesses = Array.from({ length: 40 }, (_, i) => login(i % 2 ? api : other, username, 'wrong', here));
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(30);
  for (const at of [api, other]) expect((await login(at, username, password, here)).status).toBe(429);
});

test('a success in one process forgets the failures that another one saw', async () => {
  const { username, password } = await api.newAccount();
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 9; i++) expect((await login(other, username, 'wrong', here)).status).toBe(401);
    expect((await login(api, username, password, here)).status).toBe(200);
  }
});

test('of one network 20 passwords are under check at a time, whatever the names: more wait, and other networks for none of them', async () => {
  let underCheck = 0;
  let letGo = () => {};
  const held = new Promise<null>((resolve) => {
    letGo = () => resolve(null);
  });
  const holding = () => {
    underCheck++;
    return held;
  };
  const guess = (address: string, check: () => Promise<string | null> = async () => 'proved') =>
    throttleLogin(api.deps, { username: randomUUID(), address }, check);
  const guesses = Array.from({ length: 20 }, (_, i) => guess(`2001:db8:1:2::${i}`, holding));
  await expect.poll(() => underCheck).toBe(20);
  let isProved = false;
  const waiting = guess('2001:db8:1:2::ff').then((proved) => {
    isProved = proved === 'proved';
  });
  expect(await guess('2001:db8:1:3::ff')).toBe('proved');
  expect(isProved).toBe(false);
  letGo();
  expect(await Promise.all(guesses)).toEqual(Array(20).fill(null));
  await waiting;
  expect(isProved).toBe(true);
});
