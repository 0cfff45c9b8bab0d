import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Api,
  allPaths,
  always,
  chrome,
  createWebsite,
  eventually,
  logIn,
  request,
  type Stats,
} from '../api-client.ts';
import { freePort, type Process, startProcess, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

const kills = 10;
/** Between two requests of a sender: some hundred events a second in all, so that the kills and not the machine are tested. */
const pauseMs = 20;
const ports = { ingest: await freePort(), query: await freePort() };
const services: Process[] = [];
let env: Record<string, string>;
let owner: Api;
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const stores = await createStores();
  drop = stores.drop;
  env = {
    ...stores.env,
    APP_SECRET: 'a secret of the resilience tests, long enough',
    ADMIN_PASSWORD: 'resilience',
    // Short, so that ten crashes do not cost ten minutes; the order of events is the same.
    RECLAIM_IDLE_MS: '1000',
  };
  const migration = startProcess('npm', ['run', '--silent', 'migrate'], env);
  if ((await migration.exited) !== 0) throw new Error(migration.output());
  for (const name of ['ingest', 'query'] as const) {
    const service = startService(name, { ...env, PORT: String(ports[name]) });
    services.push(service);
    await untilReady(service, `http://127.0.0.1:${ports[name]}/readyz`);
  }
  owner = await logIn(`http://127.0.0.1:${ports.query}/api`, 'admin', 'resilience');
});

afterAll(async () => {
  for (const service of services) service.kill('SIGTERM');
  await Promise.all(services.map((service) => service.exited));
  await drop?.();
});

/** Sends numbered events, some alone and some in batches, until told to stop; returns the paths that were accepted. */
function load(websiteId: string): { accepted: Set<string>; stop(): Promise<void> } {
  const accepted = new Set<string>();
  let running = true;
  let next = 0;
  const event = (n: number) => ({
    type: 'event',
    payload: { website: websiteId, url: `/n/${n}`, id: `visitor-${n % 50}` },
  });
  async function sender(batchSize: number): Promise<void> {
    while (running) {
      const numbers = Array.from({ length: batchSize }, () => next++);
      const [path, body] = batchSize === 1 ? ['send', event(numbers[0] ?? 0)] : ['batch', numbers.map(event)];
      const answer = await request('POST', `http://127.0.0.1:${ports.ingest}/api/${path}`, {
        headers: { 'user-agent': chrome },
        body,
      });
      if (answer.status === 200) for (const n of numbers) accepted.add(`/n/${n}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  const senders = [sender(1), sender(1), sender(5), sender(10)];
  return {
    accepted,
    async stop() {
      running = false;
      await Promise.all(senders);
    },
  };
}

/** How many rows are stored now, whatever they are. */
const stored = async (websiteId: string) =>
  (await owner.get<Stats>(`/websites/${websiteId}/stats`, always())).pageviews;

async function killWorkerAtWork(websiteId: string): Promise<void> {
  const worker = startService('worker', { ...env, PORT: '0' });
  const before = await stored(websiteId);
  try {
    // It has to be at work before it can be killed between an insert and its acknowledgement.
    await eventually(
      () => stored(websiteId),
      (count) => count > before,
      60_000,
    );
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_000));
  } catch (error) {
    throw new Error(`the worker stored nothing; it said:\n${worker.output()}`, { cause: error });
  } finally {
    worker.kill('SIGKILL');
    await worker.exited;
  }
}

test(`a worker killed with SIGKILL ${kills} times at random moments under load: every accepted event is there exactly once`, async () => {
  const website = await createWebsite(owner);
  const traffic = load(website.id);
  try {
    for (let kill = 0; kill < kills; kill++) await killWorkerAtWork(website.id);
  } finally {
    await traffic.stop();
  }
  services.push(startService('worker', { ...env, PORT: '0' }));

  expect(traffic.accepted.size).toBeGreaterThan(100);
  await eventually(
    () => stored(website.id),
    (count) => count >= traffic.accepted.size,
    60_000,
  );
  const paths = await allPaths(owner, website.id);
  expect(paths.length).toBe(traffic.accepted.size);
  expect(new Set(paths)).toEqual(traffic.accepted);
  expect(await stored(website.id)).toBe(traffic.accepted.size);
}, 300_000);
