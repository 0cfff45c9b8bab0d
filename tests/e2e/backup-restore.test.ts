import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { removeStores, startStores } from '@meridian/embedded/stores';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Api,
  allPaths,
  always,
  chrome,
  createApi,
  createWebsite,
  eventually,
  logIn,
  request,
  type Stats,
  type Website,
} from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Meridian, startMeridian } from '../meridian.ts';

/** docs/backup.md, step by step: what an installation holds is found again in an empty one. */
const patienceMs = 240_000;
const APP_SECRET = 'a secret that is kept apart from the backups';

const folder = mkdtempSync(join(tmpdir(), 'meridian-backups-'));
const clickhouseFolder = join(folder, 'clickhouse');
mkdirSync(clickhouseFolder);
for (const path of [folder, clickhouseFolder]) chmodSync(path, 0o777); // the engine is another user's
const backupFile = join(folder, 'registry.ndjson.gz');

/** A server of its own, as backups are the server's: where they lie is its setting. */
async function startClickHouse() {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-test-'));
  chmodSync(dataDir, 0o755);
  const settings = join(dataDir, 'clickhouse', 'meridian.d');
  mkdirSync(settings, { recursive: true });
  writeFileSync(
    join(settings, 'backups.xml'),
    `<clickhouse><backups><allowed_path>${clickhouseFolder}</allowed_path></backups></clickhouse>`,
  );
  const stores = await startStores({ dataDir, only: ['clickhouse'], log: console.error });
  const url = new URL(stores.clickhouseUrl);
  url.username = 'meridian_migrator';
  return {
    url: url.href,
    stop: async () => {
      await stores.stop();
      await removeStores(dataDir);
    },
  };
}

async function startInstallation() {
  const stores = await Promise.all([createPostgresDatabase(), startClickHouse(), createRedisDatabase()]);
  const [postgres, clickhouse, redis] = stores;
  const env = { DATABASE_URL: postgres.url, CLICKHOUSE_URL: clickhouse.url, REDIS_URL: redis.url, APP_SECRET };
  const drop = async () => void (await Promise.all([postgres.drop(), clickhouse.stop(), redis.drop()]));
  return { env, drop, cli: (...args: string[]) => runMeridian(env, ...args) };
}

type Installation = Awaited<ReturnType<typeof startInstallation>>;
const installations: Installation[] = [];
const running: Meridian[] = [];

async function send(meridian: Meridian, website: Website, fields: Record<string, unknown>): Promise<void> {
  const body = { type: 'event', payload: { website: website.id, hostname: 'shop.example', ...fields } };
  const answer = await request('POST', `${meridian.origin}/api/send`, { headers: { 'user-agent': chrome }, body });
  expect(answer.status, answer.text).toBe(200);
}

type Stored = { stats: Stats; paths: string[]; ranking: unknown; audit: unknown; websites: unknown; links: unknown };

async function lookAt(api: Api, website: Website): Promise<Stored> {
  const range = always();
  return {
    stats: await api.get<Stats>(`/websites/${website.id}/stats`, range),
    paths: await allPaths(api, website.id),
    ranking: await api.get(`/websites/${website.id}/metrics`, { ...range, type: 'path' }),
    audit: (await api.get<{ data: { id: number; action: string }[] }>('/admin/audit', { pageSize: 100 })).data,
    websites: await api.get('/websites'),
    links: await api.get(`/websites/${website.id}/shares`),
  };
}

let before: { stored: Stored; session: Api; key: string; website: Website; late: Website; goneId: string };

beforeAll(async () => {
  const old = await startInstallation();
  installations.push(old);
  const meridian = await startMeridian(old.env);
  const session = await logIn(`${meridian.origin}/api`, 'admin', meridian.password);
  const { key } = await session.ok<{ key: string }>('POST', '/me/api-keys', { name: 'reports' });
  const website = await createWebsite(session);
  const late = await createWebsite(session);
  const goneId = randomUUID();
  await session.ok('POST', '/websites', { id: goneId, name: 'Gone', domain: 'gone.example' });
  await session.ok('DELETE', `/websites/${goneId}`);
  await session.ok('POST', `/websites/${website.id}/shares`, { name: 'For the board' });
  for (const id of ['ada', 'ada', 'eva']) await send(meridian, website, { url: `/of-${id}`, id });
  await send(meridian, website, { url: '/buy', name: 'order', data: { total: 12.5 }, id: 'eva' });
  await send(meridian, late, { url: '/late' });
  for (const [{ id }, count] of [
    [website, 4],
    [late, 1],
  ] as const)
    await eventually(
      () => allPaths(session, id),
      (paths) => paths.length === count,
    );
  // An event can be read some moments before the rollups have it: a backup of that moment has it in one of them only.
  expect((await old.cli('check-rollups')).stdout).toBe('Rollups agree with their events.\n');

  expect(await runClickHouse(old.env.CLICKHOUSE_URL, `BACKUP DATABASE meridian TO File('first')`)).toContain(
    'BACKUP_CREATED',
  );
  // Deleted, and its events removed, between the two backups.
  await session.ok('DELETE', `/websites/${late.id}`);
  const lateEvents = () =>
    runClickHouse(old.env.CLICKHOUSE_URL, `SELECT count() FROM meridian.events WHERE website_id = '${late.id}'`);
  await eventually(lateEvents, (count) => count.trim() === '0');
  const stored = await lookAt(session, website);
  before = { stored, session, key, website, late, goneId };
  const taken = await old.cli('backup', '--out', backupFile, '--json');
  expect([taken.code, taken.stderr]).toEqual([0, '']);
  expect(JSON.parse(taken.stdout)).toMatchObject({ file: backupFile, tables: { website: 3, api_key: 1, share: 1 } });
  await meridian.stop();
}, patienceMs);
afterAll(async () => {
  for (const meridian of running) await meridian.stop();
  for (const installation of installations) await installation.drop();
  rmSync(folder, { recursive: true, force: true });
}, patienceMs);

test(
  'an empty installation is what the old one was: logins, keys, links, websites, numbers, reserved ids, audit log; and goes on',
  async () => {
    const fresh = await startInstallation();
    installations.push(fresh);
    const { CLICKHOUSE_URL } = fresh.env;
    expect(await runClickHouse(CLICKHOUSE_URL, `RESTORE DATABASE meridian FROM File('first')`)).toContain('RESTORED');
    expect((await fresh.cli('migrate')).code).toBe(0);
    const tried = await fresh.cli('restore', '--from', backupFile, '--dry-run');
    expect([tried.code, tried.stdout]).toEqual([0, expect.stringContaining('can be restored')]);
    const restored = await fresh.cli('restore', '--from', backupFile);
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringMatching(/3 website.*: restored$/m)]);
    const rollups = await fresh.cli('check-rollups', '--repair');
    expect([rollups.code, rollups.stdout]).toEqual([0, 'Rollups agree with their events.\n']);

    const meridian = await startMeridian(fresh.env);
    running.push(meridian);
    const { stored, website, late, key, goneId } = before;
    const session = await logIn(`${meridian.origin}/api`, 'admin', meridian.password);
    expect(await lookAt(session, website)).toEqual(stored);
    expect(stored.stats).toMatchObject({ pageviews: 3, visitors: 2 });
    const byKey = createApi(`${meridian.origin}/v1/us`, key);
    expect(await byKey.get(`/websites/${website.id}/stats`, always())).toEqual(stored.stats);
    for (const id of [goneId, late.id]) {
      const taken = await request('POST', `${meridian.origin}/v1/us/websites`, {
        headers: { authorization: `Bearer ${key}` },
        body: { id, name: 'Again', domain: 'again.example' },
      });
      expect([taken.status, taken.text]).toEqual([400, expect.stringContaining('Website ID already in use.')]);
    }
    // The events of the website that was deleted after ClickHouse's backup are removed once more.
    const lateEvents = () =>
      runClickHouse(CLICKHOUSE_URL, `SELECT count() FROM meridian.events WHERE website_id = '${late.id}'`);
    await eventually(lateEvents, (count) => count.trim() === '0', 60_000);

    await send(meridian, website, { url: '/after', id: 'ada' });
    await eventually(
      () => allPaths(session, website.id),
      (paths) => paths.length === 5,
    );
    expect(await session.get(`/websites/${website.id}/stats`, always())).toMatchObject({ pageviews: 4, visitors: 2 });
    await createWebsite(session);
    expect((await fresh.cli('doctor')).code).toBe(0);
  },
  patienceMs,
);

test(
  "a backup is its owner's to read, replaces nothing, and what cannot be written is told in one line",
  async () => {
    const [old] = installations as [Installation];
    expect(statSync(backupFile).mode & 0o777).toBe(0o600);
    const again = await old.cli('backup', '--out', backupFile);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is there already')]);
    const inFolder = await old.cli('backup', '--out', folder);
    expect([inFolder.code, inFolder.stdout]).toEqual([
      0,
      expect.stringMatching(/meridian-registry-\d{8}T\d{6}Z\.ndjson\.gz: \d+ bytes, /),
    ]);
    const nowhere = await old.cli('backup', '--out', join(folder, 'no', 'such', 'folder'));
    expect([nowhere.code, nowhere.stderr.trim().split('\n').length]).toEqual([1, 1]);
    const without = await old.cli('backup');
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--out is required')]);
  },
  patienceMs,
);

test(
  'a backup that is cut off or altered, and a registry that is not empty, are refused with one line',
  async () => {
    const target = await createPostgresDatabase();
    const [old] = installations as [Installation];
    const env = { ...old.env, DATABASE_URL: target.url };
    expect((await runMeridian(env, 'migrate')).code).toBe(0);
    const whole = readFileSync(backupFile);
    const middle = Math.floor(whole.length / 2);
    const altered = Buffer.from(whole);
    altered[middle] = (altered[middle] ?? 0) ^ 1;
    const broken = { 'cut.gz': whole.subarray(0, middle), 'altered.gz': altered, 'none.gz': Buffer.from('no gzip') };
    for (const [name, content] of Object.entries(broken)) {
      const file = join(folder, name);
      writeFileSync(file, content);
      const refused = await runMeridian(env, 'restore', '--from', file);
      expect([refused.code, refused.stdout]).toEqual([1, '']);
      expect(refused.stderr).toMatch(/^Nothing was restored\. The backup is damaged[^\n]*\n$/);
    }
    const missing = await runMeridian(env, 'restore', '--from', join(folder, 'missing.gz'));
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/^ENOENT[^\n]*\n$/)]);
    expect((await runMeridian(env, 'restore', '--from', backupFile)).code).toBe(0);
    const twice = await runMeridian(env, 'restore', '--from', backupFile);
    expect([twice.code, twice.stderr]).toEqual([
      1,
      expect.stringMatching(/^Nothing was restored\. The registry is not empty[^\n]*\n$/),
    ]);
    await target.drop();
  },
  patienceMs,
);
