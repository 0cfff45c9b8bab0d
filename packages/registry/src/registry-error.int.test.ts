import { createServer, type Socket } from 'node:net';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRegistry } from './registry.ts';
import { RegistryError } from './registry-error.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
});
afterAll(() => t.close());

const failure = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error);

test('a failed query says neither its SQL nor its values', async () => {
  const userId = '00000000-0000-4000-8000-000000000000';
  const key = { userId, name: 'secret name', keyHash: Buffer.alloc(32), keyPrefix: 'mrd_' };
  const error = await failure(t.registry.createApiKey(key, testActor));
  expect(error).toMatchObject({ kind: 'failed', message: 'A registry query failed (23503)' });
});

test('a Postgres that does not listen is unavailable', async () => {
  const registry = createRegistry('postgres://nobody@127.0.0.1:1/nothing');
  expect(await failure(registry.ping())).toMatchObject({ kind: 'unavailable' });
  await registry.close();
});

test('a Postgres that accepts the connection and says nothing is unavailable after the time limit', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const registry = createRegistry(`postgres://nobody@127.0.0.1:${port}/nothing`, { timeoutMs: 100 });
  const error = await failure(registry.ping());
  expect(error).toBeInstanceOf(RegistryError);
  expect(error).toMatchObject({ kind: 'unavailable' });
  for (const socket of sockets) socket.destroy();
  silent.close();
  await registry.close();
});

test('what waited for a connection until its asker was told that there is no answer is not done later', async () => {
  const registry = createRegistry(t.url, { poolMax: 1, timeoutMs: 500 });
  const create = (username: string) =>
    registry.createUser({ username, passwordHash: '', role: 'user', homeRegion: 'us' }, testActor);
  await t.sql('BEGIN; LOCK TABLE user_account');
  for (const told of await Promise.all(['running', 'waiting'].map((username) => failure(create(username)))))
    expect(told).toMatchObject({ kind: 'unavailable' });
  await t.sql('ROLLBACK');
  await expect.poll(() => failure(registry.ping())).toBeNull(); // behind all that is still to be done
  expect(await t.sql("SELECT id FROM user_account WHERE username = 'waiting'")).toEqual([]);
  await t.sql('DELETE FROM user_account');
  await registry.close();
});

test('after Postgres has ended all connections, questions are answered again at once', async () => {
  const registry = createRegistry(t.url, { poolMax: 3 });
  const endOtherConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  for (let round = 0; round < 5; round++) {
    await Promise.all([registry.ping(), registry.ping(), registry.ping()]);
    await t.sql(endOtherConnections);
    const failures = await Promise.all(Array.from({ length: 3 }, () => failure(registry.ping())));
    for (const error of failures) if (error !== null) expect(error).toMatchObject({ kind: 'unavailable' });
    expect(await registry.countUsers()).toBe(0);
  }
  await registry.close();
});
