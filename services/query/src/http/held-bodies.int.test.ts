import { connect, type Socket } from 'node:net';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { type HttpServer, listen } from '@meridian/runtime/http/server';
import { statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryListener } from '../create-query-listener.ts';
import { createTestApi } from '../query-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
let server: HttpServer;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  server = await listen(createQueryListener(api.deps), { port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await server.close(0);
  await api.close();
});

test('bodies that are held back are 503 beyond 128 MB, the stillest first, and keep no login out', async () => {
  const { username, password } = await api.newAccount();
  const logIn = async () => {
    const body = JSON.stringify({ username, password }).padEnd(900_000);
    return (await fetch(`http://127.0.0.1:${server.port}/api/auth/login`, { method: 'POST', body })).status;
  };
  const heldBytes = 990_000;
  const said: string[] = [];
  const sockets: Socket[] = [];
  for (let i = 0; i < 150; i++) {
    const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
    socket.on('data', (text) => (said[i] = `${said[i] ?? ''}${text}`)).on('error', () => {});
    sockets.push(socket);
    socket.write(`POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: ${heldBytes}\r\n\r\n`);
    await new Promise<void>((done) => socket.write(Buffer.alloc(heldBytes - 1, ' '), () => done()));
  }
  expect(await logIn()).toBe(200);
  for (const socket of sockets) socket.write(' ');
  await expect.poll(() => said.flatMap(statusesOf).length, { timeout: 20_000 }).toBe(150);
  const refused = said.filter((text) => statusesOf(text)[0] === 503);
  expect(refused.length).toBeGreaterThan(10);
  for (const text of refused) expect(text).toMatch(/^retry-after: \d\r$/im);
  // Those that came last are read as they are: no JSON.
  expect(said.slice(100).flatMap(statusesOf)).toEqual(Array(50).fill(400));
  expect(await logIn()).toBe(200);
  for (const socket of sockets) socket.destroy();
}, 60_000);
