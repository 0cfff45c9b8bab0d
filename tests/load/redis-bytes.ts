import type { Redis } from 'ioredis';
import { closedLoad } from './closed-load.ts';
import { batchConnections, type LoadContext, sendConnections } from './load-context.ts';
import type { Row } from './report.ts';
import { batchTraffic, eventsPerBatch, sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';

const secondsMax = 3;
const goal = { atLeast: 220, aim: 120, unit: ' bytes', lowerIsBetter: true };

/**
 * What an event costs in Redis while no worker takes it away: all memory that came, with the state of visits, divided
 * by the events.
 */
export async function measureRedisBytes({ options, stores, ingest }: LoadContext): Promise<Row[]> {
  const loads = [
    {
      what: 'Redis bytes per queued event, /send',
      nextVisitor: createVisitors(sendTraffic(stores.websites, 20_000)),
      connections: sendConnections,
      events: 1,
    },
    {
      what: `Redis bytes per queued event, /batch of ${eventsPerBatch}`,
      nextVisitor: createVisitors(batchTraffic(stores.websites, 1_000)),
      connections: batchConnections,
      events: eventsPerBatch,
    },
  ];
  const rows: Row[] = [];
  for (const { what, nextVisitor, connections, events } of loads) {
    await stores.emptyLog();
    const before = await dataBytes(stores.redis);
    const seconds = Math.min(secondsMax, options.seconds);
    const { requests } = await closedLoad({ targets: [ingest], nextVisitor, connections, seconds });
    const count = requests * events;
    const stream = await streamBytes(stores.redis);
    const value = ((await dataBytes(stores.redis)) - before) / count;
    const sessions = (await stores.redis.dbsize()) - 1;
    const note =
      `stream ${Math.round(stream / count)}, the rest visit state; ` +
      `${Math.round(count)} events of ${sessions} sessions, entries of ${Math.round(count / (await entries(stores.redis)))} events`;
    rows.push({ what, goal, value, note });
    await stores.emptyLog();
  }
  return rows;
}

/** Memory without that of connections and of what waits to be written to disk. */
async function dataBytes(redis: Redis): Promise<number> {
  const info = await redis.info('memory');
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return field('used_memory') - field('mem_clients_normal') - field('mem_aof_buffer');
}

const streams = (redis: Redis): Promise<string[]> => redis.keys('events:*');

async function streamBytes(redis: Redis): Promise<number> {
  let bytes = 0;
  for (const stream of await streams(redis)) bytes += Number(await redis.call('MEMORY', 'USAGE', stream, 'SAMPLES', 0));
  return bytes;
}

async function entries(redis: Redis): Promise<number> {
  let count = 0;
  for (const stream of await streams(redis)) count += await redis.xlen(stream);
  return count;
}
