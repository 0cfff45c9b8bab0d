import { randomUUID } from 'node:crypto';
import { createEventLog } from '@meridian/queue/event-log';
import { createLogConsumer } from '@meridian/queue/log-consumer';
import { pendingEvent } from '@meridian/queue/test-events';
import { connectProducer, connectWorker, patience, startOwnRedis } from '@meridian/queue/test-redis';
import type { Redis } from 'ioredis';

/*
 * What an event costs the one thread of Redis on its way through the log, in microseconds of CPU: node --import tsx
 * tests/load/redis-cpu.ts CPU and not the clock, so that other work on the machine matters little. Prints one line for
 * each size of a call.
 */

const partitions = 1;
const events = 100_000;
const sessions = Array.from({ length: 20_000 }, () => randomUUID());
const websiteId = randomUUID();

const own = await startOwnRedis({ appendfsync: 'everysec' });
for (const perCall of [10, 50, 500]) {
  const redis = await connectProducer(own.url, patience.commandTimeout);
  const [commands, waitingRedis] = [await connectWorker(own.url), await connectWorker(own.url)];
  const log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs, callIntervalMs: 0 });
  const beforeAppends = await cpuMicroseconds(commands);
  for (let sent = 0; sent < events; sent += perCall) {
    const placements = Array.from({ length: perCall }, (_, i) => ({
      event: pendingEvent({
        websiteId,
        sessionId: sessions[(sent + i) % sessions.length] ?? '',
        createdAtMs: Date.now(),
      }),
    }));
    await log.append({ placements });
  }
  const appended = ((await cpuMicroseconds(commands)) - beforeAppends) / events;

  const consumer = createLogConsumer({
    redis: commands,
    waitingRedis,
    partitions,
    consumer: randomUUID(),
    reclaimIdleMs: 60_000,
  });
  const beforeReads = await cpuMicroseconds(commands);
  for (let read = 0; read < events; ) {
    const batch = await consumer.next({ eventsMax: 50_000, maxWaitMs: 250 });
    if (!batch) break;
    read += batch.rows.count;
    await consumer.commit(batch, []);
  }
  const consumed = ((await cpuMicroseconds(commands)) - beforeReads) / events;
  console.log(
    `${perCall} events a call: ${appended.toFixed(2)} µs to append, ${consumed.toFixed(2)} µs to hand out and delete`,
  );
  for (const one of [redis, commands, waitingRedis]) one.disconnect();
}
await own.remove();

async function cpuMicroseconds(redis: Redis): Promise<number> {
  const cpu = await redis.info('cpu');
  const of = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(cpu)?.[1] ?? 0);
  return (of('used_cpu_user') + of('used_cpu_sys')) * 1e6;
}
