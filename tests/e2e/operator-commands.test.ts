import { randomUUID } from 'node:crypto';
import { freePort } from '@meridian/embedded/ports';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request, unique } from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Process, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

// What an operator does beside the running product with nothing but the stores' addresses: there is no login on cloud.

const patienceMs = 180_000;
const stores = await createStores();
const { DATABASE_URL, CLICKHOUSE_URL } = stores.env;
const cli = (...args: string[]) => runMeridian({ DATABASE_URL, REGION: 'us' }, ...args);
const migrate = (...args: string[]) => runMeridian({ DATABASE_URL, CLICKHOUSE_URL }, 'migrate', ...args);
let query: Process | undefined;

afterAll(async () => {
  query?.kill('SIGTERM');
  await query?.exited;
  await stores.drop();
});

async function json<Value>(...args: string[]): Promise<Value> {
  const { code, stdout, stderr } = await cli(...args, '--json');
  expect([code, stderr], stdout).toEqual([0, '']);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  const plan = await migrate('--dry-run');
  expect([plan.code, plan.stderr]).toEqual([1, '']);
  expect(plan.stdout).toMatch(/^Postgres: 0000_.*\n(.*\n)*ClickHouse: 0001_.*\n(.*\n)*\d+ steps would be taken\.\n$/);
  const early = await cli('create-account', '--username', 'early');
  expect([early.code, early.stdout]).toEqual([1, '']);
  expect(early.stderr).toMatch(/^Postgres \(DATABASE_URL\): .*Run: meridian migrate\n$/);
  const done = await migrate();
  expect([done.code, done.stdout]).toEqual([0, 'Postgres and ClickHouse have the schema of this version.\n']);
}, patienceMs);

test(
  'a plan for another cluster than that of the tables is refused, as the migration is',
  async () => {
    const other = { DATABASE_URL, CLICKHOUSE_URL, CLICKHOUSE_CLUSTER: 'other' };
    const refused = await runMeridian(other, 'migrate', '--dry-run');
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^ClickHouse \(CLICKHOUSE_URL\): .* on a single node, but .*CLUSTER is other\n$/);
  },
  patienceMs,
);

test(
  'on cloud the first account, its key and its website come from the command, and the audit log tells of them',
  async () => {
    const username = unique('ada');
    const account = await json<{ id: string; password: string }>('create-account', '--username', username);
    expect(account).toMatchObject({ username, role: 'user', homeRegion: 'us', password: expect.any(String) });
    const key = await json<{ id: string; key: string }>('create-key', '--username', username, '--name', 'ci');
    const shareId = unique('share');
    const website = await json<{ id: string }>(
      ...['create-website', '--username', username, '--name', 'Shop', '--domain', 'https://shop.example/'],
      ...['--share-id', shareId],
    );
    expect(website).toMatchObject({ name: 'Shop', domain: 'shop.example', region: 'us', userId: account.id });

    const port = await freePort();
    const APP_SECRET = 'a secret of the end-to-end tests, long enough';
    query = startService('query', { ...stores.env, PORT: String(port), MODE: 'cloud', APP_SECRET });
    await untilReady(query, `http://127.0.0.1:${port}/readyz`);
    const headers = { authorization: `Bearer ${key.key}` };
    const me = await request('GET', `http://127.0.0.1:${port}/v1/me`, { headers });
    expect(me.body).toMatchObject({ user: { id: account.id, username } });
    const read = await request('GET', `http://127.0.0.1:${port}/v1/websites/${website.id}`, { headers });
    expect(read.body).toMatchObject({ id: website.id, shareId, createdBy: account.id });

    const entries = await json<{ userId: null; action: string; subjectId: string }[]>('audit', '--user', 'operator');
    expect(entries.map(({ userId, action, subjectId }) => [userId, action, subjectId])).toEqual([
      [null, 'website.create', website.id],
      [null, 'api-key.create', key.id],
      [null, 'user.create', account.id],
    ]);
    for (const secret of [key.key, account.password]) expect(JSON.stringify(entries)).not.toContain(secret);
  },
  patienceMs,
);

test(
  'on stores that are prepared a migration has nothing to do; a store that is away is told in one line, without its password',
  async () => {
    const plan = await migrate('--dry-run');
    expect([plan.code, plan.stdout]).toEqual([0, 'There is nothing to do.\n']);
    const away = `127.0.0.1:${await freePort()}`;
    const env = { DATABASE_URL: `postgres://u:secret@${away}/m`, CLICKHOUSE_URL: `http://u:secret@${away}/m` };
    for (const args of [['audit'], ['migrate', '--dry-run']]) {
      const { code, stdout, stderr } = await runMeridian(env, ...args);
      expect([args, code, stdout]).toEqual([args, 1, '']);
      expect(stderr).toMatch(/^Postgres \(DATABASE_URL\): .*ECONNREFUSED.*\n$/);
      expect(stderr).not.toContain('secret');
    }
    const unset = await runMeridian({ DATA_DIR: `/nowhere/${randomUUID()}` }, 'audit');
    expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining('DATABASE_URL is not set')]);
    const senseless = await migrate('--dry');
    expect([senseless.code, senseless.stderr]).toEqual([2, expect.stringContaining('Usage: meridian')]);
  },
  patienceMs,
);
