import { setTimeout as delay } from 'node:timers/promises';
import { createTestProxy } from '@meridian/embedded/test-proxy';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createRegistry, type Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';

/**
 * The primary stands behind a proxy that takes it away; the replica is the same database, so that it has everything.
 */
let t: Awaited<ReturnType<typeof createTestRegistry>>;
let proxy: Awaited<ReturnType<typeof createTestProxy>>;
let registry: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  const { hostname: host, port } = new URL(t.url);
  proxy = await createTestProxy({ host, port: Number(port) });
});
/** Of the primary, behind the proxy. */
function primaryUrl(): string {
  const url = new URL(t.url);
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return url.href;
}
beforeEach(() => {
  registry = createRegistry(primaryUrl(), { replicaUrl: t.url, timeoutMs: 2_000 });
});
afterEach(async () => {
  proxy.goUp();
  await registry.close();
});
afterAll(async () => {
  await proxy.close();
  await t.close();
});

test.each(['breaks connections off', 'says nothing'])(
  'while the primary %s questions are answered, and changes are refused as unavailable',
  async (how) => {
    const user = await t.newUser();
    const website = await t.newWebsite(user);
    expect(await registry.findWebsite(website.id)).toMatchObject({ id: website.id });
    if (how === 'says nothing') proxy.hang();
    else proxy.goDown();

    expect(await registry.findWebsite(website.id)).toMatchObject({ id: website.id });
    expect(await registry.findUserById(user.id)).toMatchObject({ id: user.id });
    await registry.ping();
    expect(
      await registry.updateWebsite(website.id, { name: 'x' }, testActor).catch((error: unknown) => error),
    ).toMatchObject({
      kind: 'unavailable',
    });

    proxy.goUp();
    await expect
      .poll(async () => (await registry.updateWebsite(website.id, { name: 'back' }, testActor).catch(() => null))?.ok, {
        timeout: 20_000,
      })
      .toBe(true);
    await expect.poll(async () => (await registry.findWebsite(website.id))?.name).toBe('back');
  },
);

test('once a question has met a primary that says nothing, later ones do not wait for it too', async () => {
  const { id } = await t.newUser();
  const patient = createRegistry(primaryUrl(), { replicaUrl: t.url, timeoutMs: 4_000 });
  onTestFinished(() => patient.close());
  proxy.hang();
  await patient.findUserById(id);
  const answered: string[] = [];
  const ask = async (name: string) => {
    expect(await patient.findUserById(id)).toMatchObject({ id });
    answered.push(name);
  };
  const early = ask('begun before the primary was known to be away');
  await delay(1_500);
  await ask('begun later');
  expect(answered).toEqual(['begun later']);
  await early;
});

test('what the replica says is not remembered: a change is seen by the next question', async () => {
  const user = await t.newUser();
  const website = await t.newWebsite(user);
  proxy.goDown();
  expect(await registry.findWebsite(website.id)).toMatchObject({ name: 'Shop' });
  await t.registry.updateWebsite(website.id, { name: 'Other' }, testActor);
  expect(await registry.findWebsite(website.id)).toMatchObject({ name: 'Other' });
});

test('what the replica does not know may be too new for it: that is an outage, and not an unknown thing', async () => {
  proxy.goDown();
  for (const ask of [
    () => registry.findWebsite(crypto.randomUUID()),
    () => registry.findWebsiteStatus(crypto.randomUUID()),
    () => registry.findCallerByKeyHash(Buffer.alloc(32, 9)),
  ])
    expect(await ask().catch((error: unknown) => error)).toMatchObject({ kind: 'unavailable' });
});

test('one question that takes too long sends no other to the replica', async () => {
  const user = await t.newUser();
  const website = await t.newWebsite(user);
  const behind = await createTestRegistry(await createPostgresDatabase());
  const two = createRegistry(t.url, { replicaUrl: behind.url, timeoutMs: 3_000 });
  const locking = new pg.Client({ connectionString: t.url });
  await locking.connect();
  try {
    await locking.query('BEGIN; LOCK TABLE website IN ACCESS EXCLUSIVE MODE');
    await expect(two.findWebsite(website.id)).rejects.toMatchObject({ kind: 'unavailable' });
    // The replica has nobody, so that its answer would be an outage.
    for (let i = 0; i < 10; i++) expect(await two.findUserById(user.id)).toMatchObject({ id: user.id });
  } finally {
    await locking.end();
    await two.close();
    await behind.close();
  }
});
