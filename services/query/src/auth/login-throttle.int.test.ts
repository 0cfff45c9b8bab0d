import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
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

const guess = (address: string, check: () => Promise<string | null>) =>
  throttleLogin(api.deps, { username: randomUUID(), address }, check);

/** 20 guesses of a network whose passwords are under check until they are let go of. */
async function holdChecks(network: string) {
  const letGo: (() => void)[] = [];
  const held = () => new Promise<null>((resolve) => letGo.push(() => resolve(null)));
  const guesses = Array.from({ length: 20 }, (_, i) => guess(`${network}::${i}`, held));
  await expect.poll(() => letGo.length).toBe(20);
  return { letGo, guesses };
}

test('of one network 20 passwords are under check at a time, whatever the names: more wait, and other networks for none of them', async () => {
  const { letGo, guesses } = await holdChecks('2001:db8:1:2');
  let isProved = false;
  const waiting = guess('2001:db8:1:2::ff', async () => 'proved').then((proved) => {
    isProved = proved === 'proved';
  });
  expect(await guess('2001:db8:1:3::ff', async () => 'proved')).toBe('proved');
  expect(isProved).toBe(false);
  for (const each of letGo) each();
  expect(await Promise.all(guesses)).toEqual(Array(20).fill(null));
  await waiting;
  expect(isProved).toBe(true);
});

test('of one network those are checked first that came first', async () => {
  const { letGo, guesses } = await holdChecks('2001:db8:1:4');
  const began: number[] = [];
  const come = (i: number) => guess('2001:db8:1:4::ff', async () => String(began.push(i)));
  const waiting: Promise<unknown>[] = [];
  for (let i = 0; i < 6; i++) {
    waiting.push(come(i));
    await pause(60);
  }
  for (const each of letGo) each();
  await Promise.all([...guesses, ...waiting]);
  expect(began).toEqual([0, 1, 2, 3, 4, 5]);
});
