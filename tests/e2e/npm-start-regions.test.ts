import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, isFree } from '@meridian/embedded/ports';
import { StandaloneConfig } from '@meridian/standalone/config';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { chrome, eventually, logIn, request, unique, type Website } from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Process, startProcess, untilReady } from '../processes.ts';

/** What a start of two regions offers. Each test makes what it counts. */
const dataDir = await mkdtemp(join(tmpdir(), 'meridian-regions-'));
let port = await freePort();
while (!(await isFree(port + 1))) port = await freePort();
const origin = (index: number) => `http://localhost:${port + index}`;
let started: Process;

const logInTo = (region: 'us' | 'eu') => logIn(`${origin(0)}/v1/${region}`, 'admin', 'two-regions');

beforeAll(async () => {
  const env = { DATA_DIR: dataDir, PORT: String(port), ADMIN_PASSWORD: 'two-regions' };
  started = startProcess('npm', ['start', '--', '--regions', 'us,eu'], env, true);
  await untilReady(started, `${origin(1)}/readyz`, 180_000);
}, 300_000);
afterAll(async () => {
  started.kill('SIGTERM');
  await started.exited;
  await rm(dataDir, { recursive: true, force: true });
});

/** A website of eu with one event, which came to us. */
async function newVisited(): Promise<Website> {
  const eu = await logInTo('eu');
  const website = await eu.ok<Website>('POST', '/websites', { name: 'EU', domain: 'eu.example' });
  const body = { type: 'event', payload: { website: website.id, url: '/' } };
  const sent = await request('POST', `${origin(0)}/api/send`, { headers: { 'user-agent': chrome }, body });
  expect(sent.status).toBe(200);
  await eventually(
    () => eu.get<{ pageviews: number }>(`/websites/${website.id}/stats`, { startAt: 0, endAt: Date.now() + 60_000 }),
    ({ pageviews }) => pageviews === 1,
  );
  return website;
}

test('npm start with two regions prints their addresses, and each answers for both', async () => {
  await eventually(
    async () => started.output(),
    (text) => text.includes(`Region us: ${origin(0)}\nRegion eu: ${origin(1)}\n`),
  );
  const { id } = await newVisited();
  expect(await (await logInTo('us')).ok('GET', `/websites/${id}`)).toBeNull();
}, 300_000);

test('what the data directory holds beside the regions is no name for one', async () => {
  const { REGIONS } = StandaloneConfig.shape;
  const areNames = async (dir: string) => (await readdir(dir)).filter((name) => REGIONS.safeParse(name).success);
  expect((await areNames(dataDir)).sort()).toEqual(['eu', 'us']);
});

test('the meridian command finds everything by the data directory, and a region by its name', async () => {
  const cli = (...args: string[]) => runMeridian({ DATA_DIR: dataDir }, ...args);
  const ofRegion = (REGION: string, ...args: string[]) => runMeridian({ DATA_DIR: dataDir, REGION }, ...args);
  const acceptedIn = async (region: string, other: string): Promise<number> => {
    const { code, stdout, stderr } = await ofRegion(region, 'doctor');
    expect([code, stderr], stdout).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^OK +region ${other} .*believes this region$`, 'm'));
    const [, accepted, stored] = /^OK +accounting +(\d+) accepted = (\d+) stored /m.exec(stdout) ?? [];
    expect([accepted, stored], stdout).toEqual([expect.any(String), accepted]);
    return Number(accepted);
  };
  const before = [await acceptedIn('us', 'eu'), await acceptedIn('eu', 'us')];
  await newVisited();
  const after = [await acceptedIn('us', 'eu'), await acceptedIn('eu', 'us')];
  expect(after.map((accepted, i) => accepted - (before[i] ?? 0))).toEqual([0, 1]);
  const listed = await cli('regions');
  expect([listed.code, listed.stderr]).toEqual([0, '']);
  for (const [index, region] of ['us', 'eu'].entries())
    expect(listed.stdout).toMatch(new RegExp(`^${region} +${origin(index)} .*answers$`, 'm'));

  for (const args of [['dead-letters', 'list'], ['failed-jobs', 'list'], ['check-rollups'], ['migrate', '--dry-run']]) {
    const { code, stderr } = await ofRegion('eu', ...args);
    expect([args, code, stderr]).toEqual([args, 0, '']);
    const unnamed = await cli(...args);
    expect([args, unnamed.code, unnamed.stdout]).toEqual([args, 2, '']);
    expect(unnamed.stderr).toMatch(/^No region is named: the regions us, eu run on .*REGION/);
  }
}, 300_000);

test('accounts and websites are made in regions that there are, a website in the home region of its account', async () => {
  const cli = (...args: string[]) => runMeridian({ DATA_DIR: dataDir }, ...args);
  const audit = async () =>
    JSON.parse((await cli('audit', '--user', 'operator', '--json')).stdout) as { id: string; action: string }[];
  const before = (await audit()).map(({ id }) => id);
  const username = unique('ada');
  const website = ['create-website', '--username', username, '--name', 'Shop', '--domain', 'shop.example', '--json'];
  const made = await cli('create-account', '--username', username, '--home-region', 'eu');
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(JSON.parse((await cli(...website)).stdout)).toMatchObject({ region: 'eu' });
  for (const args of [
    ['create-account', '--username', 'eve', '--home-region', 'mars'],
    [...website, '--region', 'mars'],
    ['create-account', '--username', 'eve'],
  ]) {
    const { code, stdout, stderr } = await cli(...args);
    expect([args, code, stdout]).toEqual([args, 2, '']);
    expect(stderr).toContain('us, eu');
  }
  const changes = (await audit()).filter(({ id }) => !before.includes(id));
  expect(changes.map(({ action }) => action)).toEqual(['website.create', 'user.create']);
}, 300_000);

test('one start on a data directory excludes another, and one of one region begins nothing beside several', async () => {
  for (const [args, why] of [
    [['--', '--regions', 'us,eu'], `The data directory ${dataDir} is in use`],
    [[], `The data directory ${dataDir} (DATA_DIR) has the data of several regions: start with --regions`],
  ] as const) {
    const second = startProcess('npm', ['start', ...args], { DATA_DIR: dataDir, PORT: String(await freePort()) });
    onTestFinished(() => second.kill('SIGTERM'));
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(why);
  }
}, 300_000);

test('several regions begin nothing beside the data of one', async () => {
  const ofOne = join(dataDir, 'of-one');
  await mkdir(join(ofOne, 'postgres'), { recursive: true });
  const refused = startProcess('npm', ['start', '--', '--regions', 'us,eu'], { DATA_DIR: ofOne });
  onTestFinished(() => refused.kill('SIGTERM'));
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toContain(`${ofOne} (DATA_DIR) has the data of one region: start without --regions`);
}, 120_000);

test.each([
  [['--regions', 'us,eu'], { REDIS_URL: 'redis://127.0.0.1:1' }, 'REDIS_URL names one store'],
  [['--regions', 'us,eu'], { CLICKHOUSE_URL: 'http://127.0.0.1:1/x' }, 'CLICKHOUSE_URL names one store'],
  [['--regions', 'us,us'], {}, 'REGIONS: names a region twice'],
  [['--regions', 'us,app-secret'], {}, 'REGIONS: cannot be registry, '],
  [['--region', 'us'], {}, "Unknown option '--region'"],
])(
  'npm start %j with %j starts nothing and says why',
  async (args, env, why) => {
    const refused = startProcess('npm', ['start', '--', ...args], { ...env, DATA_DIR: join(dataDir, 'refused') });
    expect(await refused.exited).not.toBe(0);
    expect(refused.output()).toContain(why);
    expect(await readdir(dataDir)).not.toContain('refused');
  },
  120_000,
);

test('a region that is killed starts again, and the other one answers all the time', async () => {
  const us = await logInTo('us');
  process.kill(await pidOf('eu'), 'SIGKILL');
  await eventually(
    async () => {
      expect(await us.ok('GET', '/websites')).toMatchObject({ data: [] });
      return started.output();
    },
    (text) => text.includes('Region eu has ended (SIGKILL); it starts again.'),
  );
  await eventually(
    async () => {
      expect(await us.ok('GET', '/websites')).toMatchObject({ data: [] });
      return (await request('GET', `${origin(0)}/v1/eu/heartbeat`)).status;
    },
    (status) => status === 200,
    120_000,
  );
}, 300_000);

test('Ctrl-C, which reaches every process of the terminal, ends all regions and starts none again', async () => {
  const restarts = () => started.output().match(/it starts again/g)?.length ?? 0;
  const before = restarts();
  process.kill(-started.pid, 'SIGINT');
  await started.exited;
  expect(restarts()).toBe(before);
}, 120_000);

async function pidOf(region: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [command = '', environment = ''] = await Promise.all(
      ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    if (
      command.includes('services/standalone/src/main.ts') &&
      environment.includes(`DATA_DIR=${join(dataDir, region)}\0`)
    )
      return Number(pid);
  }
  throw new Error('not running');
}
