import type { ClickHouseClient } from '@clickhouse/client';
import { readRetention } from './retention.ts';
import { createRollupAccess } from './rollup-access.ts';
import { toReadError } from './warehouse-error.ts';

/** A rollup that counts otherwise than the events from which it is made. */
export type RollupDrift = { websiteId: string; table: string; inEvents: number; inRollup: number };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How far the clocks may differ by which this process and ClickHouse judge what has expired. */
const clocksApartMs = hourMs;
/** A late event may lie before the hour of its visit, but hardly by more. */
const beforeVisitMs = 12 * hourMs;

/**
 * Compares the rollups of some websites, drawn by lot, with their events of the last two days (UTC), as far as no TTL has touched either: a row of
 * a rollup expires by its first moment, before the events that it counts.
 * @param websites at most so many
 */
export async function findRollupDrift(client: ClickHouseClient, now: Date, websites: number): Promise<RollupDrift[]> {
  const sinceMs = (Math.floor(now.getTime() / dayMs) - 1) * dayMs;
  try {
    const days = await readRetention(client);
    const keptMs = days === undefined ? 0 : now.getTime() - days * dayMs + clocksApartMs;
    const range = {
      rollupsMs: Math.max(sinceMs, Math.ceil(keptMs / dayMs) * dayMs),
      visitsMs: Math.max(sinceMs, Math.ceil((keptMs + beforeVisitMs) / hourMs) * hourMs),
    };
    const drawn = await client.query({
      query: `SELECT DISTINCT website_id FROM site_15m WHERE bucket >= ${instant(sinceMs)} ORDER BY rand() LIMIT {websites:UInt8}`,
      query_params: { websites },
      format: 'JSONEachRow',
    });
    const drifts: RollupDrift[] = [];
    for (const { website_id } of await drawn.json<{ website_id: string }>())
      drifts.push(...(await compareWebsite(client, website_id, range)));
    return drifts;
  } catch (error) {
    throw toReadError(error);
  }
}

/** From where on (Unix ms) the rollups, and the visits, are compared: a whole day, a whole hour. */
type Range = { rollupsMs: number; visitsMs: number };

async function compareWebsite(
  client: ClickHouseClient,
  websiteId: string,
  { rollupsMs, visitsMs }: Range,
): Promise<RollupDrift[]> {
  const access = createRollupAccess(client, websiteId);
  const since = instant(rollupsMs);
  const visitsSince = instant(visitsMs);
  const comparisons = [
    {
      table: 'site_15m',
      events: `SELECT count() FROM events WHERE event_type IN (1, 2) AND created_at >= ${since}`,
      rollup: `SELECT sum(pageviews) + sum(custom_events) FROM site_15m WHERE bucket >= ${since}`,
    },
    {
      table: 'path_day',
      events: `SELECT count() FROM events WHERE event_type = 1 AND created_at >= ${since}`,
      rollup: `SELECT sum(pageviews) FROM path_day WHERE day >= toDate(${since})`,
    },
    {
      table: 'visits',
      events: `SELECT count() FROM events WHERE event_type = 1 AND created_at >= ${instant(visitsMs - beforeVisitMs)}
        AND toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC')) >= ${visitsSince}`,
      rollup: `SELECT sum(pageviews) FROM visits WHERE start_hour >= ${visitsSince}`,
    },
  ];
  const drifts: RollupDrift[] = [];
  for (const { table, events, rollup } of comparisons) {
    const [row] = await access.readQuietly<{ inEvents: number; inRollup: number }>(
      `SELECT (${events}) AS inEvents, (${rollup}) AS inRollup`,
      table,
    );
    if (row && row.inEvents !== row.inRollup) drifts.push({ websiteId, table, ...row });
  }
  return drifts;
}

const instant = (atMs: number): string => `toDateTime(${Math.floor(atMs / 1000)}, 'UTC')`;
