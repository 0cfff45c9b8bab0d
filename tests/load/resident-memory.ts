import { closedLoad } from './closed-load.ts';
import type { LoadContext } from './load-context.ts';
import { openLoad } from './open-load.ts';
import { residentMegabytesOf } from './process-figures.ts';
import type { Row } from './report.ts';
import { createStrangers } from './strangers.ts';
import { eventsPerBatch, sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';

const sessionsWanted = 1_000_000;
const sendsPerSecond = 500;
const parts = 10;
const sizeGoal = { atLeast: 250, aim: 150, unit: ' MB', lowerIsBetter: true };
const growthGoal = { atLeast: 1.1, aim: 1.05, unit: ' x', lowerIsBetter: true };

/**
 * Memory of a collector to which a million sessions come within the given minutes, in batches, while browsers send as
 * well and a worker takes the events away.
 */
export async function measureResidentMemory({ options, stores, services }: LoadContext): Promise<Row[]> {
  await stores.emptyLog();
  const ingest = await services.start('ingest');
  const worker = await services.start('worker');
  const seconds = (options.memoryMinutes * 60) / parts;
  const strangers = createStrangers(stores.websites);
  const browsers = createVisitors(sendTraffic(stores.websites, 20_000));
  const batchesPerSecond = sessionsWanted / eventsPerBatch / parts / seconds;
  const megabytes: number[] = [];
  let failed = 0;
  const startedAtMs = performance.now();
  for (let part = 0; part < parts; part++) {
    const load = { target: ingest, connections: 16, seconds };
    const results = await Promise.all([
      openLoad({ ...load, nextVisitor: strangers, perSecond: batchesPerSecond }),
      openLoad({ ...load, nextVisitor: browsers, perSecond: sendsPerSecond }),
    ]);
    for (const result of results) failed += result.failed;
    // What was refused, on a machine that has too much to do, does not count as a session.
    while ((await stores.redis.dbsize()) < (sessionsWanted * (part + 1)) / parts)
      await closedLoad({ targets: [ingest], nextVisitor: strangers, connections: 2, seconds: 0.2 });
    megabytes.push(residentMegabytesOf(ingest.pid));
  }
  const sessions = await stores.redis.dbsize(); // one key holds the visits of each
  const minutes = (performance.now() - startedAtMs) / 60_000;
  await services.end(worker, ingest);
  await stores.emptyLog();

  const list = megabytes.map((value) => Math.round(value)).join(' ');
  return [
    {
      what: `RSS of a collector, ${minutes.toFixed(1)} minutes, ${(sessions / 1e6).toFixed(2)} million sessions`,
      goal: sizeGoal,
      value: Math.max(...megabytes),
      spread: { min: Math.min(...megabytes), max: Math.max(...megabytes) },
      note: `at each tenth: ${list} MB${failed > 0 ? `; ${failed} FAILED` : ''}`,
    },
    {
      what: 'the same, at the end against half-time: flat is near 1',
      goal: growthGoal,
      value: (megabytes.at(-1) ?? Number.NaN) / (megabytes[parts / 2 - 1] ?? Number.NaN),
    },
  ];
}
