import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Process, startProcess, untilReady } from '../processes.ts';
import { makeServiceImage } from '../service-image.ts';
import { createStores } from '../stores.ts';

/** Machines differ, and bundling is work. */
const patienceMs = 180_000;

const services = ['ingest', 'query', 'worker'] as const;
const images = mkdtempSync(join(tmpdir(), 'meridian-images-'));
const processes: Process[] = [];
let env: Record<string, string>;
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const stores = await createStores();
  drop = stores.drop;
  env = {
    ...stores.env,
    APP_SECRET: 'a secret of the tests of bundles, long enough',
    ADMIN_PASSWORD: 'a test password',
  };
  for (const service of [...services, 'cli']) await makeServiceImage(service, join(images, service));
}, patienceMs);

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  await drop?.();
  rmSync(images, { recursive: true });
});

test(
  'migrate of a bundle waits for a store that comes up later, and every service of a bundle gets ready',
  async () => {
    const database = new URL(env.DATABASE_URL ?? '');
    const { host } = database;
    database.host = `127.0.0.1:${await freePort()}`;
    const migration = startBundle('cli', { DATABASE_URL: database.href }, 'migrate');
    await vi.waitUntil(() => migration.output().includes('Postgres cannot be reached yet (ECONNREFUSED)'), 60_000);
    const late = await forward(Number(database.port), host);
    expect(await migration.exited, migration.output()).toBe(0);
    late.close();

    for (const service of services) {
      const port = await freePort();
      await untilReady(startBundle(service, { PORT: String(port) }), `http://127.0.0.1:${port}/readyz`);
      if (service !== 'query') continue;
      for (const file of ['/docs', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'])
        expect((await fetch(`http://127.0.0.1:${port}${file}`)).status, file).toBe(200);
    }
  },
  patienceMs,
);

test(
  'the command of a bundle knows the migrations that the stores have',
  async () => {
    const doctor = startBundle('cli', {}, 'doctor');
    expect(await doctor.exited, doctor.output()).toBe(0);
    await expect.poll(doctor.output).toMatch(/Postgres .*migrations applied.*ClickHouse .*migrations applied/s);
  },
  patienceMs,
);

function startBundle(service: string, more: Record<string, string>, args = ''): Process {
  const command = `cd ${join(images, service)} && exec ${process.execPath} bin/main.js ${args}`;
  const started = startProcess('/bin/sh', ['-c', command], { ...env, ...more });
  processes.push(started);
  return started;
}

/** Listens on the port and passes every connection on to the store. */
async function forward(port: number, store: string): Promise<Server> {
  const { hostname, port: storePort } = new URL(`tcp://${store}`);
  const server = createServer((client) => {
    const target = connect(Number(storePort), hostname);
    client.pipe(target).pipe(client);
    for (const socket of [client, target]) socket.on('error', () => {}); // the other end went away
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
