import { closedLoad, type LoadResult, type Target } from './closed-load.ts';
import { type LoadContext, sendConnections } from './load-context.ts';
import { type Row, summarise } from './report.ts';
import { sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';
import { warmUp } from './warm-up.ts';

const goal = { atLeast: 0.95, aim: 1, unit: ' x' };

type Kind = 'bare' | 'bare2' | 'ingest' | 'ingest2';

/**
 * What two collectors do against one, as a share of what two bare servers do against one, each process with the same
 * number of connections. Where sender, stores and servers share two cores, the row per CPU-second says more than the
 * one by the clock.
 */
export async function measureTwoProcesses({ options, stores, services, ingest, bare }: LoadContext): Promise<Row[]> {
  const [secondIngest, secondBare] = [await services.start('ingest'), await services.startBare()];
  const targets: Record<Kind, readonly [Target, ...Target[]]> = {
    bare: [bare],
    bare2: [bare, secondBare],
    ingest: [ingest],
    ingest2: [ingest, secondIngest],
  };
  const kinds = Object.keys(targets) as Kind[];
  const nextVisitor = createVisitors(sendTraffic(stores.websites, 20_000));
  const results: Record<Kind, LoadResult>[] = [];
  await warmUp(stores.websites, secondIngest, secondBare);
  await stores.emptyLog();
  for (let round = 0; round < options.rounds; round++) {
    const result: Partial<Record<Kind, LoadResult>> = {};
    for (const kind of kinds) {
      const connections = sendConnections * targets[kind].length;
      result[kind] = await closedLoad({ nextVisitor, connections, targets: targets[kind], seconds: options.seconds });
      await stores.emptyLog();
    }
    results.push(result as Record<Kind, LoadResult>);
  }
  await services.end(secondIngest, secondBare);

  const row = (per: 'seconds' | 'cpuSeconds', what: string): Row => {
    const rate = (result: LoadResult) => result.requests / result[per];
    const gain = (one: 'bare' | 'ingest') =>
      summarise(results.map((result) => rate(result[`${one}2`]) / rate(result[one]))).value.toFixed(2);
    const ratios = results.map(
      ({ bare, bare2, ingest, ingest2 }) => rate(ingest2) / rate(ingest) / (rate(bare2) / rate(bare)),
    );
    const note = `two collectors ${gain('ingest')} x one, two bare servers ${gain('bare')} x one`;
    return { what: `two processes against one, over the bare servers', ${what}`, goal, ...summarise(ratios), note };
  };
  return [row('cpuSeconds', 'events per CPU-second'), row('seconds', 'events per second')];
}
