import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chrome, createApi, createWebsite, eventually, logIn, request, type Stats, unique } from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Process, startProcess, untilReady } from '../processes.ts';

/** What the operator's command says of two regions that run, and of what is wrong between them. */
const patienceMs = 180_000;
const password = 'end-to-end-doctor';
const ports = { us: await freePort(), eu: await freePort() };
const addresses = { us: `http://127.0.0.1:${ports.us}`, eu: `http://127.0.0.1:${ports.eu}` };
const dataFolder = mkdtempSync(join(tmpdir(), 'meridian-doctor-'));
const registry = await createPostgresDatabase();
const stores = {
  us: { redis: await createRedisDatabase(), clickhouse: await createClickHouseDatabase() },
  eu: { redis: await createRedisDatabase(), clickhouse: await createClickHouseDatabase() },
};
const processes: Process[] = [];

const environment = (region: 'us' | 'eu') => ({
  REGION: region,
  DATABASE_URL: registry.url,
  REDIS_URL: stores[region].redis.url,
  CLICKHOUSE_URL: stores[region].clickhouse.url,
  PEER_SECRET: 'a secret between regions, long enough too',
  PEERS: `us=${addresses.us},eu=${addresses.eu}`,
});

async function startRegion(region: 'us' | 'eu'): Promise<void> {
  const process = startProcess(globalThis.process.execPath, ['--import', 'tsx', 'services/standalone/src/main.ts'], {
    ...environment(region),
    PORT: String(ports[region]),
    HOST: '127.0.0.1',
    DATA_DIR: join(dataFolder, region),
    APP_SECRET: 'a secret of the end-to-end tests, long enough',
    ADMIN_PASSWORD: password,
    ...(region === 'eu' && { TRUSTED_PROXIES: '127.0.0.1' }),
  });
  processes.push(process);
  await untilReady(process, `${addresses[region]}/readyz`);
}

beforeAll(async () => {
  await startRegion('us'); // alone at first: it makes the tables
  await startRegion('eu');
}, patienceMs);
afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  const all = [registry, ...Object.values(stores).flatMap(({ redis, clickhouse }) => [redis, clickhouse])];
  await Promise.all(all.map((store) => store.drop()));
  rmSync(dataFolder, { recursive: true, force: true });
}, patienceMs);

/** What a region's own ClickHouse has of a website. */
async function pageviewsIn(region: 'us' | 'eu', websiteId: string): Promise<number> {
  const warehouse = createWarehouse(stores[region].clickhouse.url);
  const range = { startAt: new Date(0), endAt: new Date(Date.now() + 86_400_000) };
  const { value } = await warehouse.getStats({ websiteId, range, filters: [], match: 'all', route: 'test' });
  await warehouse.close();
  return value.pageviews;
}

type Found = { check: string; status: string; detail: string; advice?: string };

async function doctor(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await runMeridian(env, 'doctor', '--json', ...args);
  expect(stderr).toBe('');
  const findings = Object.fromEntries((JSON.parse(stdout) as Found[]).map((finding) => [finding.check, finding]));
  return { code, findings };
}

test(
  'all is well: clocks, geo file, the other region, the address, an event from its sending to its counting, and no trace of that',
  async () => {
    const { code, findings } = await doctor(environment('us'), '--url', addresses.us, '--canary');
    const statuses = Object.fromEntries(Object.values(findings).map(({ check, status }) => [check, status]));
    expect(statuses, JSON.stringify(findings)).toEqual(
      Object.fromEntries(Object.keys(statuses).map((check) => [check, 'OK'])),
    );
    expect(code).toBe(0);
    expect(findings.clocks?.detail).toMatch(/^Postgres [+-]\d+\.\d s, ClickHouse [+-]\d+\.\d s, Redis [+-]\d+\.\d s$/);
    expect(findings['region eu']?.detail).toMatch(/ms, its clock \+0\.0 s, believes this region$/);
    expect(findings.canary?.detail).toMatch(/^two events were queryable \d+ ms after/);
    expect(findings['proxy headers']?.detail).toContain('is not believed');
    const api = await logIn(`${addresses.us}/api`, 'admin', password);
    expect(await api.get('/websites')).toMatchObject({ count: 0 });
  },
  patienceMs,
);

test(
  'headers of this machine that are believed are told; the events of --website are its own',
  async () => {
    const api = await logIn(`${addresses.eu}/api`, 'admin', password);
    const website = await createWebsite(api);
    const args = ['--url', `${addresses.eu}/`, '--canary', '--website', website.id];
    const { code, findings } = await doctor(environment('eu'), ...args);
    expect(code, JSON.stringify(findings)).toBe(0);
    expect(findings['proxy headers']).toMatchObject({ status: 'WARN', detail: expect.stringContaining('is believed') });
    const range = { startAt: 0, endAt: Date.now() + 86_400_000 };
    const stats = await api.get<Stats>(`/websites/${website.id}/stats`, range);
    expect(stats).toMatchObject({ pageviews: 2, visitors: 2 });
  },
  patienceMs,
);

test(
  'regions are listed with what they hold and whether they answer',
  async () => {
    const listed = await runMeridian(environment('us'), 'regions', '--json');
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(JSON.parse(listed.stdout)).toEqual([
      {
        region: 'us',
        address: addresses.us,
        state: 'answers',
        latencyMs: expect.any(Number),
        aheadMs: 0,
        accounts: 1,
        websites: expect.any(Number),
      },
      {
        region: 'eu',
        address: addresses.eu,
        state: 'answers',
        latencyMs: expect.any(Number),
        aheadMs: 0,
        accounts: 0,
        websites: expect.any(Number),
      },
    ]);
    const away = `http://127.0.0.1:${await freePort()}`;
    const PEERS = `us=${addresses.us},eu=${addresses.us},ap=${away}`;
    const wrong = await runMeridian({ ...environment('us'), PEERS }, 'regions');
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toMatch(/^us +http\S+ +\d+ ms +\+0\.0 s +1 +\d+ +answers$/m);
    expect(wrong.stdout).toMatch(/^eu .* is region us$/m);
    expect(wrong.stdout).toMatch(/^ap .* - +- +0 +0 +.*ECONNREFUSED/m);
  },
  patienceMs,
);

test(
  'a deleted account is out of both regions soon, and so is what its websites collected, though the command has the registry alone',
  async () => {
    const cli = async (...args: string[]) => {
      const { PEERS } = environment('us');
      const { code, stdout, stderr } = await runMeridian({ DATABASE_URL: registry.url, REGION: 'us', PEERS }, ...args);
      expect([code, stderr], stdout).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const username = `${unique('ada')}@example.com`;
    await cli('create-account', '--username', username, '--home-region', 'eu', '--json');
    const { key } = await cli('create-key', '--username', username, '--name', 'test', '--json');
    for (const region of ['us', 'eu'] as const) {
      const api = createApi(`${addresses.us}/v1/${region}`, key);
      const { id } = await createWebsite(api);
      const body = { type: 'event', payload: { website: id, url: '/' } };
      const sent = await request('POST', `${addresses.us}/api/send`, { headers: { 'user-agent': chrome }, body });
      expect(sent.status, sent.text).toBe(200);
      await eventually(
        () => pageviewsIn(region, id),
        (found) => found === 1,
      );
    }

    const deleted = await cli('delete-account', '--username', username, '--yes', '--json');
    expect(deleted.websites).toHaveLength(2);
    const status = async (region: 'us' | 'eu') => {
      const headers = { authorization: `Bearer ${key}` };
      return (await request('GET', `${addresses[region]}/v1/${region}/websites`, { headers })).status;
    };
    for (const region of ['us', 'eu'] as const)
      await eventually(
        () => status(region),
        (found) => found === 401,
      );
    for (const { id, region } of deleted.websites as { id: string; region: 'us' | 'eu' }[])
      await eventually(
        () => pageviewsIn(region, id),
        (found) => found === 0,
        patienceMs,
      );
  },
  patienceMs,
);

test(
  'what is wrong between regions, and an event that does not come through, are failures that say what to do',
  async () => {
    const dropping = createServer((_request, response) => response.end('{"beep":"boop","ignored":"bot"}'));
    await new Promise<void>((listening) => void dropping.listen(0, '127.0.0.1', listening));
    const address = dropping.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const env = environment('us');
    const [secret, other, noSecret] = await Promise.all([
      doctor({ ...env, PEER_SECRET: 'another secret between regions, as long' }, '--url', addresses.eu),
      doctor({ ...env, PEERS: `eu=${addresses.us}`, GEOIP_DB: '/nowhere/city.mmdb' }, '--url', url, '--canary'),
      doctor({ ...env, PEER_SECRET: '' }),
    ]);
    expect([secret.code, other.code, noSecret.code]).toEqual([1, 1, 1]);
    const refused = { status: 'FAIL', detail: expect.stringContaining('answers 503 to what this region signs') };
    expect(secret.findings['region eu']).toMatchObject({ ...refused, advice: expect.stringContaining('PEER_SECRET') });
    expect(secret.findings.address).toMatchObject({ status: 'FAIL', detail: `${addresses.eu} is region eu` });
    expect(other.findings['region eu']).toMatchObject({ status: 'FAIL', detail: `${addresses.us} is region us` });
    expect(other.findings['geo file']).toMatchObject({ status: 'WARN', detail: expect.stringContaining('ENOENT') });
    expect(other.findings.canary).toMatchObject({ status: 'FAIL', detail: 'the event is ignored: bot' });
    expect(other.findings['proxy headers']?.status).toBe('WARN');
    expect(noSecret.findings['region eu']?.detail).toContain('PEER_SECRET is not set');
    dropping.close();
  },
  patienceMs,
);

test(
  'what makes no sense is answered with the usage',
  async () => {
    for (const args of [['--canary'], ['--url', 'eu.example.com'], ['--url', addresses.us, '--website', 'x']]) {
      const { code, stdout, stderr } = await runMeridian(environment('us'), 'doctor', ...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Usage: meridian');
    }
  },
  patienceMs,
);
