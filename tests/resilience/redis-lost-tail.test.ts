import { startOwnRedis } from '@meridian/queue/test-redis';
import { expect, test } from 'vitest';
import { startSystem } from './system.ts';
import { underLoad, untilAccepted } from './under-load.ts';

test.each(['always', 'everysec'])(
  'Redis with appendfsync %s loses the end of its file when its host fails: only events of that end are lost, none is stored twice',
  async (appendfsync) => {
    const redis = await startOwnRedis({ appendfsync });
    const system = await startSystem({ redisUrl: redis.url });
    /** Numbers that were sent before a failure and not long before it. */
    const ends: { from: number; to: number }[] = [];
    try {
      const { report } = await underLoad(
        system,
        async (running) => {
          for (const bytes of [100, 1_000, 10_000, 30_000]) {
            await untilAccepted(running, 600);
            const sure = Math.max(...running.accepted);
            await untilAccepted(running, 200);
            await redis.kill();
            // Some that were in the log by then have their answer under way still.
            ends.push({ from: sure - 600, to: running.sentBelow() });
            await redis.loseTail(bytes);
            await redis.start();
          }
        },
        { countsAreSure: false },
      );
      expect(report.doubled).toEqual([]);
      const inAnEnd = (n: number) => ends.some(({ from, to }) => n >= from && n < to);
      expect(report.lost.filter((n) => !inAnEnd(n))).toEqual([]);
    } finally {
      await system.stop();
      await redis.remove();
    }
  },
  120_000,
);
