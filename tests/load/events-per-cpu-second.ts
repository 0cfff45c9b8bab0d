import { closedLoad, type LoadResult } from './closed-load.ts';
import { batchConnections, type LoadContext, sendConnections } from './load-context.ts';
import { type Goal, type Row, summarise } from './report.ts';
import { batchTraffic, eventsPerBatch, sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';

const goals: Record<'send' | 'batch', Goal> = {
  send: { atLeast: 0.45, aim: 0.6, unit: ' x floor' },
  batch: { atLeast: 3, aim: 4, unit: ' x floor' },
};

/**
 * Events per CPU-second of a collector, on `/send` and `/batch`, as a share of the requests per CPU-second of the bare
 * server, which is sent the same as `/send`. Each round measures all of them, one after the other.
 */
export async function measureEventsPerCpuSecond({ options, stores, ingest, bare }: LoadContext): Promise<Row[]> {
  const nextSend = createVisitors(sendTraffic(stores.websites, 20_000));
  const runs = {
    bare: () => closedLoad({ targets: [bare], nextVisitor: nextSend, connections: sendConnections, seconds }),
    send: () => closedLoad({ targets: [ingest], nextVisitor: nextSend, connections: sendConnections, seconds }),
    batch: () => closedLoad({ targets: [ingest], nextVisitor: nextBatch, connections: batchConnections, seconds }),
  };
  const { seconds } = options;
  const asked = (['send', 'batch'] as const).filter((kind) => options.only.has(kind));
  const nextBatch = createVisitors(options.only.has('batch') ? batchTraffic(stores.websites, 2_000) : []);
  const results = { bare: [] as LoadResult[], send: [] as LoadResult[], batch: [] as LoadResult[] };
  for (let round = 0; round < options.rounds; round++) {
    for (const kind of ['bare', ...asked] as const) {
      results[kind].push(await runs[kind]());
      await stores.emptyLog();
    }
  }

  const floors = results.bare.map((result) => result.requests / result.cpuSeconds);
  return [
    { what: 'bare node:http, requests per CPU-second', ...summarise(floors), ...wallClock(results.bare, 1) },
    ...asked.map((kind): Row => {
      const events = kind === 'batch' ? eventsPerBatch : 1;
      const ratios = results[kind].map(
        (r, round) => (r.requests * events) / r.cpuSeconds / (floors[round] ?? Number.NaN),
      );
      return {
        what: kind === 'batch' ? `/batch of ${eventsPerBatch}, events per CPU-second` : '/send, events per CPU-second',
        goal: goals[kind],
        ...summarise(ratios),
        ...wallClock(results[kind], events),
      };
    }),
  ];
}

function wallClock(results: readonly LoadResult[], eventsPerRequest: number): { note: string } {
  const sum = (pick: (result: LoadResult) => number) => results.reduce((total, result) => total + pick(result), 0);
  const events = sum((result) => result.requests) * eventsPerRequest;
  const perCpuSecond = Math.round(events / sum((result) => result.cpuSeconds));
  const perSecond = Math.round(events / sum((result) => result.seconds));
  const failed = sum((result) => result.failed);
  return { note: `${perCpuSecond} per CPU-second, ${perSecond} per second${failed > 0 ? `, ${failed} FAILED` : ''}` };
}
