import { setTimeout as delay } from 'node:timers/promises';
import { eventsKey } from '@meridian/queue/log-keys';
import { closedLoad } from './closed-load.ts';
import { batchConnections, type LoadContext, sendConnections } from './load-context.ts';
import { batchTraffic, eventsPerBatch, sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';

const stretchSeconds = 2;
const kept = 'load-test:kept-log';
const pollMs = 2;

/** Appends the kept entries again, under new ids, in one step. */
const refillScript = `
local from = '-'
while true do
  local entries = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 500)
  if #entries == 0 then return end
  for _, entry in ipairs(entries) do redis.call('XADD', KEYS[2], '*', unpack(entry[2])) end
  from = '(' .. entries[#entries][1]
end`;

export type FullLog = {
  /** Events in the log when it is full. */
  events: number;
  /**
   * Fills the log, which a worker must have emptied, and waits until a worker has done so again. Gives the seconds from
   * full to empty.
   */
  drain(): Promise<number>;
};

/**
 * Collects `eventsMin` events at least, from browsers and in batches, and keeps the log to fill it again and again. No
 * worker may run.
 */
export async function createFullLog({ stores, ingest }: LoadContext, eventsMin: number): Promise<FullLog> {
  const { redis } = stores;
  const browsers = createVisitors(sendTraffic(stores.websites, 20_000));
  const servers = createVisitors(batchTraffic(stores.websites, 1_000));
  await stores.emptyLog();
  let events = 0;
  while (events < eventsMin) {
    const load = { targets: [ingest], seconds: stretchSeconds } as const;
    const [sent, batches] = await Promise.all([
      closedLoad({ ...load, nextVisitor: browsers, connections: sendConnections }),
      closedLoad({ ...load, nextVisitor: servers, connections: batchConnections }),
    ]);
    if (sent.failed + batches.failed > 0) throw new Error('the collector refused events');
    events += sent.requests + batches.requests * eventsPerBatch;
  }
  const log = eventsKey(0);
  await redis.rename(log, kept);
  return {
    events,
    async drain() {
      await redis.eval(refillScript, 2, kept, log);
      const startedAtMs = performance.now();
      while ((await redis.xlen(log)) > 0) await delay(pollMs);
      return (performance.now() - startedAtMs) / 1_000;
    },
  };
}
