import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { freePort } from '@meridian/embedded/ports';
import { createJobs, createJobWorker } from '@meridian/queue/jobs';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { allPaths, chrome, createWebsite, eventually, logIn, request } from '../api-client.ts';
import { type CommandResult, runMeridian } from '../command.ts';
import { startMeridian } from '../meridian.ts';
import { startProcess } from '../processes.ts';
import { createStores } from '../stores.ts';

/** The `meridian` command as a process of its own, beside the running product. */
const patienceMs = 180_000;

const stores = await createStores();
const meridian = await startMeridian(stores.env);
const admin = await logIn(`${meridian.origin}/api`, 'admin', meridian.password);
const redis = new Redis(stores.env.REDIS_URL);
const cli = (...args: string[]) => runMeridian(stores.env, ...args);
const eventsTable = `${new URL(stores.env.CLICKHOUSE_URL).pathname.slice(1)}.events`;
afterAll(async () => {
  redis.disconnect();
  await meridian.stop();
  await stores.drop();
});

type Letter = { id: string; time: string; reason: string; event: { urlPath: string; eventId: string } };

async function lettersNow(): Promise<Letter[]> {
  return JSON.parse((await cli('dead-letters', 'list', '--json')).stdout);
}

async function send(websiteId: string, fields: Record<string, unknown>): Promise<void> {
  const payload = { website: websiteId, ...fields };
  const answer = await request('POST', `${meridian.origin}/api/send`, {
    headers: { 'user-agent': chrome },
    body: { type: 'event', payload },
  });
  expect(answer.status, answer.text).toBe(200);
}

test('npx and npm know the command in a checkout', async () => {
  for (const [program, ...args] of [
    ['npx', 'meridian', 'help'],
    ['npm', 'run', '--silent', 'meridian', 'help'],
  ] as const) {
    const started = startProcess(program, args, {});
    expect(await started.exited).toBe(0);
    await expect.poll(started.output).toMatch(/^Usage: meridian/m);
  }
});

/** Status of each check of the doctor by its name. */
async function doctor(env: Record<string, string> = stores.env) {
  const { code, stdout } = await runMeridian(env, 'doctor', '--json');
  const findings = JSON.parse(stdout) as { check: string; status: string; detail: string; advice?: string }[];
  return { code, statuses: Object.fromEntries(findings.map(({ check, status }) => [check, status])), findings };
}

test(
  'dead letters are listed, shown, given up, and stored once when the cause is gone, even if they were stored before',
  async () => {
    const website = await createWebsite(admin);
    await runClickHouse(stores.env.CLICKHOUSE_URL, `ALTER TABLE ${eventsTable} ADD CONSTRAINT odd CHECK tag != 'odd'`);
    await send(website.id, { url: '/odd-1', tag: 'odd' });
    await send(website.id, { url: '/odd-2', tag: 'odd' });
    await send(website.id, { url: '/good' });

    const letters = await eventually(lettersNow, (found) => found.length === 2);
    expect(letters.map(({ event }) => event.urlPath)).toEqual(['/odd-1', '/odd-2']);
    const { stdout: table } = await cli('dead-letters', 'list', '--limit', '1');
    expect(table).toMatch(/^0:\d+-0 +\S+Z +\S{36} +\/odd-1 +\S.*odd/m);
    expect(table).toContain('1 of 2 dead letters');
    const [first, second] = letters as [Letter, Letter];
    expect(JSON.parse((await cli('dead-letters', 'show', first.id)).stdout)).toEqual(first);
    expect((await doctor()).statuses).toMatchObject({ 'dead letters': 'WARN', accounting: 'OK' });

    const dropped = await cli('dead-letters', 'drop', second.id);
    expect([dropped.code, dropped.stdout]).toEqual([0, `${second.id} dropped\n`]);
    const [, kept = []] = (await redis.xrange('dead-letters:{0}', '-', '+'))[0] ?? [];

    await runClickHouse(stores.env.CLICKHOUSE_URL, `ALTER TABLE ${eventsTable} DROP CONSTRAINT odd`);
    expect((await cli('dead-letters', 'replay', '--all')).stdout).toBe('1 replayed\n');
    const paths = () => allPaths(admin, website.id).then((found) => found.sort());
    await eventually(paths, (found) => found.length === 2);

    // The same letter once more, as if the attempt before it became one had stored the event.
    await redis.xadd('dead-letters:{0}', '*', ...kept);
    await redis.multi().hincrby('event-counts', 'stored', -1).hincrby('event-counts', 'dead-lettered', 1).exec();
    const [again] = await lettersNow();
    const replayed = await cli('dead-letters', 'replay', again?.id ?? '');
    expect([replayed.code, replayed.stdout]).toEqual([0, `${again?.id} replayed\n`]);
    await expect.poll(() => redis.xlen('events:{0}')).toBe(0);
    expect(await paths()).toEqual(['/good', '/odd-1']);

    expect(await redis.hgetall('event-counts')).toMatchObject({ accepted: '3', stored: '2', dropped: '1' });
    expect(await lettersNow()).toEqual([]);
    expect((await cli('dead-letters', 'replay', first.id)).code).toBe(1);
  },
  patienceMs,
);

test(
  'failed jobs are listed, ordered again and given up',
  async () => {
    const other = await createStores();
    const run = (...args: string[]) => runMeridian(other.env, 'failed-jobs', ...args);
    const none = async () => {};
    const jobs = createJobs(other.env.REDIS_URL);
    const worker = createJobWorker(other.env.REDIS_URL, { purgeWebsite: none, resetWebsite: none }, () => {});
    await jobs.purgeWebsite('no website id'); // can never succeed
    const list = async () => JSON.parse((await run('list', '--json')).stdout) as { id: string; reason: string }[];
    const [failed] = await eventually(list, (found) => found.length === 1);
    expect(failed?.reason).toContain('Not the data of this job');
    expect((await run('list')).stdout).toMatch(/^purge-\S.* +purge-website +no website id +1 +Not the data/m);

    expect((await run('retry', failed?.id ?? '')).code).toBe(0);
    await eventually(list, (found) => found.length === 1); // given up again
    await Promise.all([worker.close(), jobs.close()]);
    expect((await run('drop', '--all')).stdout).toBe('1 dropped\n');
    expect((await run('list')).stdout).toContain('0 failed jobs');
    expect((await run('retry', failed?.id ?? '')).code).toBe(1);
    await other.drop();
  },
  patienceMs,
);

test(
  'a repair of rollups waits for what a worker of either lane was given, and not for what waits in the log',
  async () => {
    const other = await createStores();
    const log = new Redis(other.env.REDIS_URL);
    const migrated = await runMeridian(other.env, 'migrate');
    expect(migrated.code, migrated.stderr).toBe(0);
    const repair = () => runMeridian(other.env, 'check-rollups', '--repair');
    const repaired = { code: 0, stdout: 'Rollups agree with their events.\n', stderr: '' };
    const stream = 'backfill-events:{0}';
    await log.xgroup('CREATE', stream, 'workers', '0', 'MKSTREAM');
    const id = (await log.xadd(stream, '*', 'v', '3')) ?? '';
    expect(await repair()).toMatchObject(repaired);

    await log.xreadgroup('GROUP', 'workers', 'dead', 'STREAMS', stream, '>');
    const looks = async () => Number(/cmdstat_xrange:calls=(\d+)/.exec(await log.info('commandstats'))?.[1]);
    const before = await looks();
    const waiting = repair();
    await expect.poll(looks, { timeout: 60_000 }).toBeGreaterThan(before + 20); // it looks again and again
    await log.xdel(stream, id);
    expect(await waiting).toMatchObject(repaired);
    log.disconnect();
    await other.drop();
  },
  patienceMs,
);

test(
  'the doctor finds nothing wrong with an installation that works, and says so line by line',
  async () => {
    const website = await createWebsite(admin);
    await send(website.id, { url: '/doctor' });
    await expect.poll(() => redis.xlen('events:{0}')).toBe(0);
    const { code, stdout }: CommandResult = await cli('doctor');
    expect(code, stdout).toBe(0);
    const checks = ['Postgres', 'ClickHouse', 'Redis', 'Redis settings', 'event log', 'partitions', 'accounting'];
    for (const check of [...checks, 'dead letters', 'failed jobs', 'rollups'])
      expect(stdout).toMatch(new RegExp(`^OK +${check} `, 'm'));
  },
  patienceMs,
);

test(
  'the doctor tells what is wrong and what to do, and exits with 1',
  async () => {
    const empty = await createStores();
    const wrong = new Redis(empty.env.REDIS_URL);
    await wrong.hset('event-counts', { accepted: 3, stored: 2 });
    await wrong.xadd('events:{7}', '*', 'v', '3');
    const found = await doctor(empty.env);
    expect(found.code).toBe(1);
    const failed = { Postgres: 'FAIL', ClickHouse: 'FAIL', accounting: 'FAIL', partitions: 'FAIL' };
    expect(found.statuses).toMatchObject({ ...failed, Redis: 'OK', 'failed jobs': 'OK' });
    const text = (await runMeridian(empty.env, 'doctor')).stdout;
    expect(text).toMatch(/^FAIL +Postgres .*\n +Run: npm run migrate$/m);
    expect(text).toContain('1 of 3 accepted events are unaccounted for');
    expect(text).toContain('EVENT_LOG_PARTITIONS=8');
    wrong.disconnect();
    await empty.drop();

    const nowhere = `127.0.0.1:${await freePort()}`;
    const away = await doctor({
      DATABASE_URL: `postgres://u:secret@${nowhere}/m`,
      CLICKHOUSE_URL: `http://u:secret@${nowhere}/m`,
      REDIS_URL: `redis://:secret@${nowhere}`,
    });
    expect(away.code).toBe(1);
    expect(away.statuses).toMatchObject({ Postgres: 'FAIL', ClickHouse: 'FAIL', Redis: 'FAIL' });
    expect(away.findings.find(({ check }) => check === 'Redis')?.detail).toContain('ECONNREFUSED');
    expect(JSON.stringify(away.findings)).not.toContain('secret');
  },
  patienceMs,
);

test(
  'what cannot be understood changes nothing and is answered with the usage; a store that is away with one line',
  async () => {
    for (const args of [
      ['dead-letter'],
      ['dead-letters'],
      ['dead-letters', 'drop'],
      ['failed-jobs', 'retry', 'a', 'b'],
    ]) {
      const { code, stderr, stdout } = await cli(...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Usage: meridian');
    }
    const away = { ...stores.env, REDIS_URL: `redis://:secret@127.0.0.1:${await freePort()}` };
    expect((await runMeridian(away, 'check-rollups', '--repiar')).code).toBe(2);
    for (const args of [
      ['dead-letters', 'list'],
      ['failed-jobs', 'list'],
      ['check-rollups', '--repair'],
    ]) {
      const { code, stderr, stdout } = await runMeridian(away, ...args);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).toMatch(/^Redis \(REDIS_URL\): connect ECONNREFUSED/);
      expect(stderr).not.toContain('secret');
    }
    const noDatabase = new URL(stores.env.CLICKHOUSE_URL);
    noDatabase.pathname = '/none';
    const noUser = new URL(stores.env.CLICKHOUSE_URL);
    noUser.username = 'nobody';
    for (const [CLICKHOUSE_URL, why, ...args] of [
      [noDatabase.href, 'Database none does not exist', 'check-rollups'],
      [noUser.href, '.*[Aa]uthentication failed', 'check-rollups'],
      [noUser.href, '.*[Aa]uthentication failed', 'migrate'],
      [noUser.href, '.*[Aa]uthentication failed', 'migrate', '--dry-run'],
    ] as const) {
      const { code, stderr, stdout } = await runMeridian({ ...stores.env, CLICKHOUSE_URL }, ...args);
      expect([args, code, stdout]).toEqual([args, 1, '']);
      expect(stderr).toMatch(new RegExp(`^ClickHouse \\(CLICKHOUSE_URL\\): ${why}.*\n$`));
    }
    const unknown = await runMeridian({ DATA_DIR: `/nowhere/${randomUUID()}` }, 'dead-letters', 'list');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('REDIS_URL is not set')]);
    const wrong = await runMeridian({ ...stores.env, EVENT_LOG_PARTITIONS: 'abc' }, 'doctor');
    expect([wrong.code, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toContain('EVENT_LOG_PARTITIONS: must be a whole number from 1 to 256');
  },
  patienceMs,
);

test('whoever stops reading what the command prints ends it without a word', async () => {
  const piped = startProcess('bash', ['-c', 'set -o pipefail; node_modules/.bin/meridian help | true'], {});
  expect([await piped.exited, piped.output()]).toEqual([1, '']);
});

test('an output that cannot be written is told', async () => {
  const full = startProcess('sh', ['-c', 'node_modules/.bin/meridian help > /dev/full'], {});
  expect([await full.exited, full.output()]).toEqual([1, expect.stringMatching(/^Standard output: ENOSPC.*\n$/)]);
});

test(
  'the usage is printed for whoever asks for it, whatever the command and the settings',
  async () => {
    for (const args of [
      ['--help'],
      ['-h'],
      ['dead-letters', '--help'],
      ['dead-letters', 'replay', '-h'],
      ['doctor', '--help'],
    ]) {
      const { code, stdout, stderr } = await runMeridian({ EVENT_LOG_PARTITIONS: 'abc' }, ...args);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain('Usage: meridian');
    }
  },
  patienceMs,
);

test('the doctor ends, with 1, though ClickHouse, or every store, takes connections and never answers', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = `u:secret@127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const CLICKHOUSE_URL = `http://${address}/m`;
  const [one, all] = await Promise.all([
    doctor({ ...stores.env, CLICKHOUSE_URL }),
    doctor({ DATABASE_URL: `postgres://${address}/m`, CLICKHOUSE_URL, REDIS_URL: `redis://${address}` }),
  ]);
  expect([one.code, all.code]).toEqual([1, 1]);
  expect(one.statuses).toMatchObject({ Postgres: 'OK', ClickHouse: 'FAIL', Redis: 'OK', rollups: 'WARN' });
  expect(all.statuses).toMatchObject({ Postgres: 'FAIL', ClickHouse: 'FAIL', Redis: 'FAIL' });
  expect(JSON.stringify(all.findings)).not.toContain('secret');
  silent.close();
}, 110_000); // Less than the longest call to ClickHouse, for which an open question would keep it.
