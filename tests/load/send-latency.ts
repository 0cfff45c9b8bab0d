import { closedLoad } from './closed-load.ts';
import { type LoadContext, sendConnections } from './load-context.ts';
import type { Fsync } from './load-stores.ts';
import { type OpenLoadResult, openLoad, percentile } from './open-load.ts';
import { type Goal, type Row, summarise } from './report.ts';
import { sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';

const maximumSeconds = 2;
const openConnections = 128;
const fsyncs = ['everysec', 'always'] as const;
const goals: Record<Fsync, Goal> = {
  everysec: { atLeast: 15, aim: 8, unit: ' ms', lowerIsBetter: true },
  always: { atLeast: 40, aim: 20, unit: ' ms', lowerIsBetter: true },
};

type Round = { perSecond: number; floor: OpenLoadResult; own: OpenLoadResult };

/**
 * Latency of `/send` at half of the rate that was just measured as the maximum; the bare server at the same rate beside
 * it, since sender, stores and collector share the machine.
 */
export async function measureSendLatency({ options, stores, ingest, bare }: LoadContext): Promise<Row[]> {
  const nextVisitor = createVisitors(sendTraffic(stores.websites, 20_000));
  const rounds: Record<Fsync, Round[]> = { everysec: [], always: [] };
  for (let round = 0; round < options.rounds; round++) {
    for (const fsync of fsyncs) {
      await stores.setFsync(fsync);
      const load = { nextVisitor, connections: sendConnections };
      const maximum = await closedLoad({ ...load, targets: [ingest], seconds: maximumSeconds });
      const perSecond = maximum.requests / maximum.seconds / 2;
      const open = { nextVisitor, connections: openConnections, perSecond, seconds: options.seconds };
      const floor = await openLoad({ ...open, target: bare });
      rounds[fsync].push({ perSecond, floor, own: await openLoad({ ...open, target: ingest }) });
      await stores.emptyLog();
    }
  }
  await stores.setFsync('everysec');

  return fsyncs.map((fsync): Row => {
    const middle = (of: 'floor' | 'own', share: number) =>
      summarise(rounds[fsync].map((round) => percentile(round[of].latenciesMs, share)));
    const ms = (of: 'floor' | 'own', share: number) => middle(of, share).value.toFixed(1);
    const rate = Math.round(summarise(rounds[fsync].map(({ perSecond }) => perSecond)).value);
    const failed = rounds[fsync].reduce((sum, { own }) => sum + own.failed, 0);
    return {
      what: `/send p99 at half of the maximum rate, appendfsync ${fsync}`,
      goal: goals[fsync],
      ...middle('own', 0.99),
      note:
        `p50 ${ms('own', 0.5)}, p95 ${ms('own', 0.95)}; bare server at the same ${rate}/s: ` +
        `p50 ${ms('floor', 0.5)}, p99 ${ms('floor', 0.99)}${failed > 0 ? `; ${failed} FAILED` : ''}`,
    };
  });
}
