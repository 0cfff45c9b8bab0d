import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../api-client.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted, untilRefused } from './under-load.ts';

/** From now on the process can make no file longer than this, which is to it as if the disk were full. */
async function limitFiles(pid: number, bytes: number | 'unlimited'): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

let redis: OwnRedis;
let system: System;
beforeAll(async () => {
  redis = await startOwnRedis();
  system = await startSystem({ redisUrl: redis.url });
}, 120_000);
afterAll(async () => {
  await system.stop();
  await redis.remove();
});

// The limit of one process's files is Linux's.
describe.skipIf(process.platform !== 'linux')('a full disk', () => {
  test('of a Redis that writes everything to it first: it ends, events are refused, and nothing accepted is lost when there is room', async () => {
    const { load, report } = await underLoad(system, async (running) => {
      await limitFiles(redis.pid(), 1);
      await untilRefused(running, 100);
      await eventually(
        async () => redis.running(),
        (isRunning) => !isRunning,
      );
      await redis.start();
    });
    expect([...load.statuses.keys()].sort()).toEqual([200, 503]);
    expect(load.unsound).toEqual([]);
    expect(report).toMatchObject(exactlyOnce);
  }, 120_000);

  test('of a Redis that writes every second: events are refused while it is full, and all goes on by itself when there is room', async () => {
    await system.redis.config('SET', 'appendfsync', 'everysec');
    const { load, report } = await underLoad(system, async (running) => {
      await limitFiles(redis.pid(), 1);
      await untilRefused(running, 100);
      expect(redis.running()).toBe(true);
      await limitFiles(redis.pid(), 'unlimited');
    });
    await system.redis.config('SET', 'appendfsync', 'always');
    expect([...load.statuses.keys()].sort()).toEqual([200, 503]);
    expect(load.unsound).toEqual([]);
    expect(report).toMatchObject({ lost: [], doubled: [], deadLettered: 0 });
  }, 120_000);
});

// So ClickHouse refuses by itself when its disk has no room left.
test.each(['events', 'site_15m'])(
  'ClickHouse has no room for %s: events are accepted, wait in the log, and are stored once when there is room, in every table',
  async (table) => {
    const { load, report } = await underLoad(system, async (running) => {
      const said = () => system.members.worker.map((member) => member.process().output()).join('');
      const before = said().length;
      const setting = 'min_free_disk_bytes_to_perform_insert';
      await system.clickhouse(`ALTER TABLE {db}.${table} MODIFY SETTING ${setting} = 1e18`);
      try {
        await untilAccepted(running, 500);
        await eventually(
          async () => said().slice(before),
          (text) => /enough free space/.test(text),
        );
      } finally {
        await system.clickhouse(`ALTER TABLE {db}.${table} RESET SETTING ${setting}`);
      }
    });
    expect([...load.statuses.keys()]).toEqual([200]);
    expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
  },
  120_000,
);
