import { createFullLog, type FullLog } from './full-log.ts';
import type { LoadContext } from './load-context.ts';
import { createPlainInserts } from './plain-inserts.ts';
import { cpuSecondsOf } from './process-figures.ts';
import { type Row, summarise } from './report.ts';

const events = 300_000;
/** Also the default of FLUSH_MAX_ROWS. */
const blockRows = 50_000;

/**
 * How fast a worker empties a full log: into a sink that keeps nothing, and into ClickHouse against a client that only
 * inserts.
 */
export async function measureWorkerRate(context: LoadContext): Promise<Row[]> {
  const log = await createFullLog(context, events);
  const rows = [await measureNullSink(context, log), await measureShareOfClickHouse(context, log)];
  await context.stores.emptyLog();
  return rows;
}

async function measureNullSink({ options, services }: LoadContext, log: FullLog): Promise<Row> {
  const worker = await services.startNullSinkWorker();
  await log.drain(); // warms it up
  const rates: number[] = [];
  const wall: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const cpuBefore = cpuSecondsOf(worker.pid);
    wall.push(log.events / (await log.drain()));
    rates.push(log.events / (cpuSecondsOf(worker.pid) - cpuBefore));
  }
  await services.end(worker);
  return {
    what: 'worker into a null sink, events per CPU-second',
    goal: { atLeast: 300_000, aim: 500_000, unit: ' /s' },
    ...summarise(rates),
    note: `${Math.round(summarise(wall).value)} per second by the clock; ${log.events} events in the log`,
  };
}

async function measureShareOfClickHouse({ options, stores, services }: LoadContext, log: FullLog): Promise<Row> {
  await stores.emptyWarehouse();
  const worker = await services.start('worker');
  await log.drain(); // warms it up, and gives the plain client its rows
  const plain = await createPlainInserts(stores, blockRows);
  if (plain.rows !== log.events) throw new Error(`${plain.rows} of ${log.events} events were stored`);
  const rates: { own: number; plain: number }[] = [];
  for (let round = 0; round < options.rounds; round++) {
    rates.push({ plain: plain.rows / (await plain.insert()), own: log.events / (await log.drain()) });
  }
  await services.end(worker);
  const middle = (of: 'own' | 'plain') => Math.round(summarise(rates.map((rate) => rate[of])).value);
  return {
    what: "worker into ClickHouse, share of ClickHouse's own insert rate",
    goal: { atLeast: 0.8, aim: 0.95, unit: ' x' },
    ...summarise(rates.map(({ own, plain }) => own / plain)),
    note: `${middle('own')} events per second; a plain client ${middle('plain')}, RowBinary in blocks of ${blockRows}`,
  };
}
