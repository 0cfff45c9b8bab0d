import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { afterAll, expect, test } from 'vitest';
import { startProcess } from '../processes.ts';
import { createStores } from '../stores.ts';

/** What `npm start` says, in one line and with the setting, when something keeps it from starting. */
const stores = await createStores();
const folder = await mkdtemp(join(tmpdir(), 'meridian-refusals-'));
afterAll(async () => {
  await rm(folder, { recursive: true });
  await stores.drop();
});

async function refusal(env: Record<string, string>, ...args: string[]): Promise<string> {
  const main = ['--import', 'tsx', 'services/standalone/src/main.ts', ...args];
  const own = { DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'silent' };
  const refused = startProcess(process.execPath, main, { ...own, ...stores.env, ...env });
  expect(await refused.exited, refused.output()).toBe(1);
  return refused.output().trim();
}

test('a Redis that cannot be used is told with the reason', async () => {
  const wrong = new URL(stores.env.REDIS_URL);
  wrong.password = 'wrong';
  const none = new URL(stores.env.REDIS_URL);
  none.password = '';
  const away = `127.0.0.1:${await freePort()}`;
  for (const [REDIS_URL, why] of [
    [wrong.href, 'WRONGPASS'],
    [none.href, 'NOAUTH'],
    [`redis://${away}`, `connect ECONNREFUSED ${away}`],
  ] as const)
    expect(await refusal({ REDIS_URL })).toMatch(new RegExp(`^Redis \\(REDIS_URL\\) cannot be used: ${why}.*$`));
}, 180_000);

test('a store of which no address answers is told with the reason', async () => {
  const DATABASE_URL = `postgres://localhost:${await freePort()}/meridian`;
  expect(await refusal({ DATABASE_URL })).toMatch(/^PostgreSQL \(DATABASE_URL\) cannot be used: .*ECONNREFUSED.*$/);
}, 60_000);

test('a data directory that is a file is told with its variable', async () => {
  const DATA_DIR = join(folder, 'file');
  await writeFile(DATA_DIR, '');
  const env = { DATA_DIR, REDIS_URL: '', CLICKHOUSE_URL: '' };
  const why = `The data directory ${DATA_DIR} (DATA_DIR) cannot be used: EEXIST`;
  expect(await refusal(env)).toContain(why);
  expect(await refusal(env, '--regions', 'us,eu')).toContain(why);
}, 60_000);
