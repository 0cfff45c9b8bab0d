import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { consumerGroup, eventsKeys } from '@meridian/queue/log-keys';
import { untilHandedOutIsStored } from '@meridian/queue/log-marks';
import { createRollupCheck } from '@meridian/warehouse/rollups/check';
import { createTestSite } from '@meridian/warehouse/test-site';
import { createTestWarehouse } from '@meridian/warehouse/test-warehouse';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseRollupArguments } from './arguments.ts';
import { runCheckRollups } from './check-rollups-command.ts';

const { warehouse, client, database } = await createTestWarehouse();
const rollups = createRollupCheck(database.url);
const now = new Date('2026-06-10T12:00:00Z');

/** Where the oldest event waits for so long. */
const logOf = (lagMs: number) => ({
  readLogLagMs: async () => lagMs,
  untilHandedOutIsStored: async () => {},
});

const check = (...args: string[]) => checkWhile(0, ...args);
async function checkWhile(lagMs: number, ...args: string[]): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  const deps = { ...rollups, ...logOf(lagMs) };
  const code = await runCheckRollups(deps, parseRollupArguments(args), now, (line) => lines.push(line));
  return { code, lines };
}

test('what differs is told and is 1; put right it is 0, and then nothing differs; of another website and another time nothing is told', async () => {
  const site = createTestSite(warehouse);
  await site.insert([{ t: '10:00', urlPath: '/a' }]);
  expect(await check()).toEqual({ code: 0, lines: ['Rollups agree with their events.'] });
  await client.command({
    query: `INSERT INTO site_15m VALUES ('${site.websiteId}', '2026-06-10 10:00:00', 2, 0)`,
  });
  const told = ['WEBSITE                               ROLLUP    ROWS', `${site.websiteId}  site_15m  1`];
  expect(await check()).toEqual({ code: 1, lines: [...told, expect.stringContaining('--repair puts them right')] });
  expect((await check('--website', randomUUID())).code).toBe(0);
  expect((await check('--to', '2026-06-10')).code).toBe(0);
  expect((await check('--from', '2026-06-10', '--to', '2026-06-11')).code).toBe(1);

  const differences = [{ websiteId: site.websiteId, table: 'site_15m', rows: 1 }];
  const asJson = async (...args: string[]) => JSON.parse((await check('--json', ...args)).lines.join());
  expect(await asJson()).toEqual({ differences, repaired: false, undecidedRows: 0, logLagMs: 0 });
  expect(await asJson('--repair')).toEqual({ differences, repaired: true, undecidedRows: 0, logLagMs: 0 });
  expect(await check('--repair')).toEqual({ code: 0, lines: ['Rollups agree with their events.'] });
});

test('what differs while an event waits for long, whose block may be half stored, is told with that', async () => {
  const site = createTestSite(warehouse);
  await client.command({
    query: `INSERT INTO site_15m VALUES ('${site.websiteId}', '2026-06-10 10:00:00', 1, 0)`,
  });
  expect(await checkWhile(61_000, '--website', site.websiteId)).toMatchObject({
    code: 1,
    lines: expect.arrayContaining([expect.stringContaining('waits for 61 s')]),
  });
});

test('a repair waits until what workers have in hand is stored: rows of a block that was half stored until then are no difference', async () => {
  const redis = await createRedisDatabase();
  onTestFinished(redis.drop);
  const worker = new Redis(redis.url);
  onTestFinished(() => worker.disconnect());
  const [stream] = eventsKeys(1);
  await worker.xgroup('CREATE', stream ?? '', consumerGroup, '0', 'MKSTREAM');
  const site = createTestSite(warehouse);
  await client.command({ query: `INSERT INTO site_15m VALUES ('${site.websiteId}', '2026-06-10 10:00:00', 1, 0)` });
  const repair = (lines: string[], maxMs = 60_000) => {
    const untilStored = (signal: AbortSignal) =>
      untilHandedOutIsStored(worker, 1, AbortSignal.any([signal, AbortSignal.timeout(maxMs)]));
    const deps = { ...rollups, ...logOf(0), untilHandedOutIsStored: untilStored };
    const asked = parseRollupArguments(['--website', site.websiteId, '--repair']);
    return runCheckRollups(deps, asked, now, (line) => lines.push(line));
  };
  const id = (await worker.xadd(stream ?? '', '*', 'a', 'half stored block')) ?? '';
  await worker.xreadgroup('GROUP', consumerGroup, 'dead', 'STREAMS', stream ?? '', '>');
  await worker.xadd(stream ?? '', '*', 'an', 'import that nobody was given yet');
  const lines: string[] = [];
  const repaired = repair(lines);
  await expect(repair([], 600)).rejects.toMatchObject({ name: 'AbortError' });
  await site.insert([{ t: '10:00', urlPath: '/a' }]);
  await client.command({ query: `INSERT INTO site_15m VALUES ('${site.websiteId}', '2026-06-10 10:00:00', -1, 0)` });
  await worker.xdel(stream ?? '', id);
  expect([await repaired, lines]).toEqual([0, ['Rollups agree with their events.']]);
});

test('nothing is put right where that is not stored after a minute', async () => {
  vi.spyOn(AbortSignal, 'timeout').mockImplementationOnce(() => AbortSignal.abort());
  const untilHandedOutIsStored = async (signal: AbortSignal) => signal.throwIfAborted();
  const deps = { ...rollups, ...logOf(0), untilHandedOutIsStored };
  await expect(runCheckRollups(deps, parseRollupArguments(['--repair']), now, () => {})).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringContaining('Nothing is repaired now'),
  });
});

test('what could not be compared is told; it is 1 only where it should have been put right', async () => {
  const outcome = async () => ({ drifts: [], undecided: 3 });
  const lines: string[] = [];
  const run = (...args: string[]) =>
    runCheckRollups({ compare: outcome, repair: outcome, ...logOf(0) }, parseRollupArguments(args), now, (line) =>
      lines.push(line),
    );
  expect([await run(), await run('--repair')]).toEqual([0, 1]);
  expect(lines.filter((line) => line.startsWith('3 rows changed faster'))).toHaveLength(2);
});

test('a ClickHouse that takes the connection and says nothing is told of, not waited for as long as a comparison may take', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const unheard = createRollupCheck(`http://127.0.0.1:${(server.address() as AddressInfo).port}/meridian`);
  const refusals = [[], ['--repair']].map((args) =>
    expect(runCheckRollups({ ...unheard, ...logOf(0) }, parseRollupArguments(args), now, () => {})).rejects.toThrow(
      'no answer within 10 s',
    ),
  );
  await Promise.all(refusals);
  await unheard.close();
  server.close();
});
