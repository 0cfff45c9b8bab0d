import { readEventCounts, unaccountedEvents } from '@meridian/queue/event-counts';
import { deadLettersKey, eventsKeys, lanes, manifestsKey } from '@meridian/queue/log-keys';
import { always, eventually } from '../api-client.ts';
import { statsOf } from '../collector.ts';
import type { NumberedLoad } from './numbered-load.ts';
import type { System } from './system.ts';

/** What became of a load, all told. */
export type Report = {
  accepted: number;
  stored: number;
  deadLettered: number;
  /** Accepted, and neither stored nor a dead letter. */
  lost: number[];
  /** Stored more than once, or stored and a dead letter. */
  doubled: number[];
  /** Not accepted, and stored all the same. */
  storedOfRefused: number[];
  storedOfUnknown: number[];
};

const hourMs = 3_600_000;

/**
 * Waits until the log is empty, and compares what the senders were told with what is there. Throws when the public API
 * and the tables do not agree on what that is. `countsAreSure`: false when Redis may have kept the half of a
 * transaction, and so counts too much or too little.
 */
export async function checkLoad(
  system: System,
  websiteId: string,
  load: Pick<NumberedLoad, 'accepted' | 'refused' | 'unknown'>,
  { timeoutMs = 60_000, countsAreSure = true } = {},
): Promise<Report> {
  await untilLogIsEmpty(system, timeoutMs);
  const stored = await storedNumbers(system, websiteId);
  await expectOneAnswer(system, websiteId, stored.length);
  if (countsAreSure) await expectAccounted(system);
  const letters = await deadNumbers(system, websiteId);
  const seen = new Map<number, number>();
  for (const n of [...stored, ...letters]) seen.set(n, (seen.get(n) ?? 0) + 1);
  const there = (numbers: Set<number>) => [...numbers].filter((n) => seen.has(n));
  return {
    accepted: load.accepted.size,
    stored: stored.length,
    deadLettered: letters.length,
    lost: [...load.accepted].filter((n) => !seen.has(n)),
    doubled: [...seen].filter(([, times]) => times > 1).map(([n]) => n),
    storedOfRefused: there(load.refused),
    storedOfUnknown: there(load.unknown),
  };
}

/** One line of a report, for people. */
export const describe = (report: Report): string =>
  `${report.accepted} accepted, ${report.stored} stored, ${report.deadLettered} dead letters, ${report.lost.length} lost, ` +
  `${report.doubled.length} doubled, stored of refused ${report.storedOfRefused.length}, of unanswered ${report.storedOfUnknown.length}`;

const partitionsOf = ({ partitions }: System) => Array.from({ length: partitions }, (_, partition) => partition);

/** Entries in the log, and batches that were begun. */
async function leftInLog(system: System): Promise<number> {
  const lengths = await Promise.all([
    ...eventsKeys(system.partitions).map((stream) => system.redis.xlen(stream)),
    ...lanes.map((lane) => system.redis.hlen(manifestsKey(lane))),
  ]);
  return lengths.reduce((sum, length) => sum + length, 0);
}

export const untilLogIsEmpty = (system: System, timeoutMs = 60_000): Promise<number> =>
  eventually(
    () => leftInLog(system),
    (left) => left === 0,
    timeoutMs,
  );

/** The number of every row, from the public event log; the table must hold the same. */
async function storedNumbers(system: System, websiteId: string): Promise<number[]> {
  const paths = await pathsByCursor(system, websiteId);
  const inApi = paths.map((path) => Number(path.replace('/n/', ''))).sort((a, b) => a - b);
  const rows = await system.clickhouse(
    `SELECT JSONExtractInt(data, 'n') FROM {db}.events WHERE website_id = '${websiteId}'`,
  );
  const inTable = rows.map(Number).sort((a, b) => a - b);
  if (JSON.stringify(inApi) !== JSON.stringify(inTable))
    throw new Error(`The event log shows ${inApi.length} events, the table holds ${inTable.length}, or others`);
  return inApi;
}

/** By cursor, since a long run has too many events for pages by number. */
async function pathsByCursor({ api }: System, websiteId: string): Promise<string[]> {
  const paths: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { data: { urlPath: string }[]; nextCursor: string | null } = await api.get(
      `/websites/${websiteId}/events`,
      { ...always(), pageSize: 1000, ...(cursor !== null && { cursor }) },
    );
    paths.push(...page.data.map((row) => row.urlPath));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return paths;
}

/** Every number that the product knows about the website, of the API and of each table, is the number of rows. */
async function expectOneAnswer(system: System, websiteId: string, rows: number): Promise<void> {
  const { api, clickhouse } = system;
  const where = `WHERE website_id = '${websiteId}'`;
  const sum = async (count: string, table: string) =>
    Number((await clickhouse(`SELECT sum(${count}) FROM {db}.${table} ${where}`))[0]);
  const now = Date.now();
  const series = await api.get<{ pageviews: { y: number }[] }>(`/websites/${websiteId}/pageviews`, {
    startAt: now - 24 * hourMs,
    endAt: now + hourMs,
    unit: 'hour',
  });
  const answers = {
    stats: (await statsOf(api, websiteId)).pageviews,
    series: series.pageviews.reduce((total, point) => total + point.y, 0),
    count: (await api.get<{ count: number }>(`/websites/${websiteId}/events`, { ...always(), pageSize: 1 })).count,
    site_15m: await sum('pageviews', 'site_15m'),
    site_visits: await sum('pageviews', 'site_visits'),
    site_texts: await sum(`if(kind = 'path', events, 0)`, 'site_texts'),
  };
  const wrong = Object.entries(answers).filter(([, answer]) => answer !== rows);
  if (wrong.length > 0) throw new Error(`${rows} rows, but ${JSON.stringify(Object.fromEntries(wrong))}`);
  const wrongRows = await system.wrongRows(websiteId);
  if (wrongRows.length > 0) throw new Error(`Rollups differ from their events:\n${wrongRows.slice(0, 10).join('\n')}`);
}

/** The counters of the region: every accepted event has become something. */
async function expectAccounted({ redis }: System): Promise<void> {
  const counts = await readEventCounts(redis);
  if (unaccountedEvents(counts) !== 0 || counts.queued !== 0)
    throw new Error(`Not accounted: ${JSON.stringify(counts)}`);
}

async function deadNumbers(system: System, websiteId: string): Promise<number[]> {
  const letters = await Promise.all(partitionsOf(system).map((p) => system.redis.xrange(deadLettersKey(p), '-', '+')));
  return letters.flat().flatMap(([, fields]) => {
    const event = JSON.parse(fields[fields.indexOf('event') + 1] ?? '{}');
    return event.websiteId === websiteId ? [Number(JSON.parse(event.data).n)] : [];
  });
}
