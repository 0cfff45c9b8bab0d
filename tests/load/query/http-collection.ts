import { setTimeout as delay } from 'node:timers/promises';
import { closedLoad } from '../closed-load.ts';
import { sendConnections } from '../load-context.ts';
import type { LoadStores } from '../load-stores.ts';
import { openLoad } from '../open-load.ts';
import { type Row, summarise } from '../report.ts';
import type { Services } from '../services.ts';
import { sendTraffic } from '../traffic.ts';
import { createVisitors } from '../visitors.ts';
import { askAllTheTime, question, sessionToken, storeEvents } from './http-questions.ts';

const heavyAtOnce = 20;
/** So that what was accepted last is stored. */
const drainMaxMs = 60_000;
const goal = { atLeast: 0.9, aim: 0.98, unit: ' x without' };

type Rates = { accepted: number; stored: number };

/**
 * Events accepted and stored at half of what the collector takes at most, without and with 20 heavy questions of one
 * account all the time.
 */
export async function measureCollectionBesideQuestions(context: {
  stores: LoadStores;
  services: Services;
  seconds: number;
  rounds: number;
  events: number;
}): Promise<Row[]> {
  const { stores, services, seconds, rounds, events } = context;
  const [website = '', ...others] = stores.websites;
  await storeEvents(stores, website, events);
  const [ingest, worker] = [await services.start('ingest'), await services.start('worker')];
  const query = await services.start('query');
  const token = await sessionToken(query);
  const nextVisitor = createVisitors(sendTraffic(others, 20_000));
  const load = { nextVisitor, connections: sendConnections };
  const maximum = await closedLoad({ ...load, targets: [ingest], seconds: 3 });
  const perSecond = maximum.requests / maximum.seconds / 2;
  await untilStored(stores, maximum.requests - maximum.failed, events);

  /** Long enough for what is stored late to count. */
  const stretch = 5 * seconds;
  const measure = async (): Promise<Rates> => {
    const before = await storedOf(stores);
    const startedAtMs = performance.now();
    const { failed } = await openLoad({ ...load, target: ingest, perSecond, seconds: stretch });
    const sentSeconds = (performance.now() - startedAtMs) / 1_000;
    const accepted = (stretch + 1) * perSecond - failed; // one second of lead-in
    const stored = (await storedOf(stores)) - before;
    const rates = { accepted: accepted / sentSeconds, stored: stored / sentSeconds };
    await untilQuiet(stores);
    return rates;
  };

  const results = { without: [] as Rates[], with: [] as Rates[] };
  const statuses = new Map<number, number>();
  for (let round = 0; round < rounds; round++) {
    results.without.push(await measure());
    const stop = new AbortController();
    const asking = askAllTheTime(query, {
      paths: heavyPaths(website),
      token,
      connections: heavyAtOnce,
      signal: stop.signal,
    });
    results.with.push(await measure());
    stop.abort();
    for (const [status, count] of (await asking).statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
  }
  await services.end(query, worker, ingest);

  const rate = (of: keyof typeof results, what: keyof Rates) => results[of].map((rates) => rates[what]);
  const answered = [...statuses].map(([status, count]) => `${count} with ${status}`).join(', ');
  return (['accepted', 'stored'] as const).flatMap((what): Row[] => [
    { what: `events ${what} per second, alone`, ...summarise(rate('without', what)) },
    {
      what: `events ${what} per second, beside ${heavyAtOnce} heavy questions`,
      ...summarise(rate('with', what)),
      note: `asked of ${events.toLocaleString('en-US')} events, answered: ${answered}`,
    },
    {
      what: `share of ${what} events that stays`,
      goal,
      ...summarise(rate('with', what).map((value, round) => value / (rate('without', what)[round] ?? Number.NaN))),
    },
  ]);
}

/** Questions that no rollup answers: they read every event. */
function heavyPaths(website: string): string[] {
  const filters = [{ path: 're.item-[0-9]*7$' }, { title: 'c.tem', path: 'neq./item-1' }];
  return filters.flatMap((filter) => [
    question(website, 'stats', filter),
    question(website, 'metrics', { ...filter, type: 'entry' }),
    question(website, 'metrics/expanded', { ...filter, type: 'path' }),
    question(website, 'pageviews', { ...filter, unit: 'hour' }),
  ]);
}

async function storedOf({ clickhouse }: LoadStores): Promise<number> {
  return Number(await clickhouse({ query: 'SELECT count() FROM events FORMAT TSV' }));
}

async function untilStored(stores: LoadStores, count: number, before: number): Promise<void> {
  const deadlineMs = Date.now() + drainMaxMs;
  while ((await storedOf(stores)) < before + count && Date.now() < deadlineMs) await delay(200);
}

/** Until nothing more is stored. */
async function untilQuiet(stores: LoadStores): Promise<void> {
  for (let last = -1, next = await storedOf(stores); next !== last; next = await storedOf(stores)) {
    last = next;
    await delay(1_000);
  }
}
