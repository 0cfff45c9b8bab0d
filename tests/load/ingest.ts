// How much the collector adds to a bare HTTP server. `npm run load:ingest -- [seconds per measurement] [rounds]`
// Ratios of one run are worth something; absolute figures depend on the machine and on what else it does.
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { startStores } from '@meridian/embedded/stores';
import { migrate } from '@meridian/registry/migrate';
import { createRegistry } from '@meridian/registry/registry';
import { freePort, startProcess, startService, untilReady } from '../processes.ts';
import { type LoadResult, load, postRequest } from './http-load.ts';

const seconds = Number(process.argv[2] ?? 5);
const rounds = Number(process.argv[3] ?? 3);
const connections = 64;
const batchSize = 100;

const agents = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
];

function event(websites: string[], n: number) {
  const website = websites[n % websites.length];
  return {
    type: 'event',
    payload: {
      website,
      url: `/category-${n % 40}/item-${n % 997}?page=${n % 9}&utm_source=newsletter-${n % 5}`,
      referrer: n % 3 === 0 ? `https://www.search-${n % 20}.example/find?q=${n}` : '',
      title: `Item ${n % 997} of category ${n % 40} | Example shop`,
      hostname: 'shop.example',
      language: ['en-US', 'de-DE', 'fr-FR'][n % 3],
      screen: ['1920x1080', '390x844', '1440x900'][n % 3],
      id: `visitor-${n % 20_000}`,
      ...(n % 7 === 0 && { name: 'add to cart', data: { price: n % 100, currency: 'EUR', item: `item-${n}` } }),
    },
  };
}

function row(name: string, eventsPerRequest: number, results: LoadResult[], floor?: number) {
  const total = (pick: (result: LoadResult) => number) => results.reduce((sum, result) => sum + pick(result), 0);
  const events = total((result) => result.requests) * eventsPerRequest;
  const perCpuSecond = events / total((result) => result.cpuSeconds);
  return {
    what: name,
    'events/s': Math.round(events / total((result) => result.seconds)),
    'events per CPU-second': Math.round(perCpuSecond),
    'against the floor': floor === undefined ? 1 : Number((perCpuSecond / floor).toFixed(2)),
    failed: total((result) => result.failed),
  };
}

const dataDir = mkdtempSync(join(tmpdir(), 'meridian-load-'));
const stores = await startStores({ dataDir });
const [barePort, ingestPort] = [await freePort(), await freePort()];
const started = [
  startProcess(process.execPath, ['--import', 'tsx', 'tests/load/bare-server.ts'], { PORT: String(barePort) }),
  startService('ingest', {
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    APP_SECRET: 'a secret of the load test, long enough for it',
    PORT: String(ingestPort),
    LOG_LEVEL: 'warn',
  }),
] as const;
try {
  await migrate(stores.databaseUrl);
  const registry = createRegistry(stores.databaseUrl);
  const owner = await registry.createUser({ username: 'load', passwordHash: 'none', role: 'user', homeRegion: 'us' });
  if (!owner.ok) throw new Error(owner.reason);
  const websites: string[] = [];
  for (let i = 0; i < 20; i++) {
    const created = await registry.createWebsite({
      name: `load ${i}`,
      domain: 'shop.example',
      userId: owner.user.id,
      createdBy: owner.user.id,
      region: 'us',
    });
    if (!created.ok) throw new Error(created.reason);
    websites.push(created.website.id);
  }
  await registry.close();

  const [bare, ingest] = started;
  await untilReady(ingest, `http://127.0.0.1:${ingestPort}/readyz`);
  const requests = Array.from({ length: 5_000 }, (_, n) =>
    postRequest('/api/send', { 'user-agent': agents[n % agents.length] ?? '' }, JSON.stringify(event(websites, n))),
  );
  const batches = Array.from({ length: 200 }, (_, n) =>
    postRequest(
      '/api/batch',
      { 'user-agent': agents[n % agents.length] ?? '' },
      JSON.stringify(Array.from({ length: batchSize }, (_, i) => event(websites, n * batchSize + i))),
    ),
  );
  const results: Record<'bare' | 'send' | 'batch', LoadResult[]> = { bare: [], send: [], batch: [] };
  const measure = { connections, seconds };
  await load({ ...measure, port: ingestPort, pid: ingest.pid, requests, seconds: 2 }); // Warm-up, not counted.
  for (let round = 0; round < rounds; round++) {
    results.bare.push(await load({ ...measure, port: barePort, pid: bare.pid, requests }));
    results.send.push(await load({ ...measure, port: ingestPort, pid: ingest.pid, requests }));
    results.batch.push(
      await load({ ...measure, port: ingestPort, pid: ingest.pid, requests: batches, connections: 8 }),
    );
  }
  const bareRow = row('bare node:http', 1, results.bare);
  const floor = bareRow['events per CPU-second'];
  console.table([
    bareRow,
    row('/send', 1, results.send, floor),
    row(`/batch of ${batchSize}`, batchSize, results.batch, floor),
  ]);
  console.log(
    `${cpus().length} x ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}; ` +
      `Redis appendfsync always; ${rounds} interleaved rounds of ${seconds} s, sender on the same machine`,
  );
} finally {
  for (const each of started) each.kill('SIGTERM');
  await Promise.all(started.map((each) => each.exited));
  await stores.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
