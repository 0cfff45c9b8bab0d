import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { readRetention } from './retention.ts';
import { toReadError } from './warehouse-error.ts';

/** A rollup that is not what its events make of it. The counts may be equal: then they count other visits, moments or texts. */
export type RollupDrift = { websiteId: string; table: string; inEvents: number; inRollup: number };

/** What is compared: everything unless told otherwise. Rollups by their own times: the hour in which a visit began, the month of a text. */
export type DriftScope = { websiteIds?: readonly string[]; from?: Date; to?: Date };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How far the clocks may differ by which this process and ClickHouse judge what has expired. */
const clocksApartMs = hourMs;
/** A late event may lie before the hour of its visit, but hardly by more. */
const beforeVisitMs = 12 * hourMs;
const attempts = 5;
const pauseMs = 1_000;

const visitHour = `toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC'))`;

/** A count that people understand, and a checksum over all keys, of both sides. `at`: the time of a key, and the step in which it moves. */
const comparisons = [
  {
    table: 'site_15m',
    events: {
      count: 'count()',
      checksum: 'sum(cityHash64(toStartOfFifteenMinutes(created_at), event_type))',
      at: 'toStartOfFifteenMinutes(created_at)',
    },
    rollup: {
      count: 'sum(pageviews + custom_events)',
      checksum: `sum(pageviews * cityHash64(bucket, 1::UInt8) + custom_events * cityHash64(bucket, 2::UInt8))`,
      at: 'bucket',
    },
    firstWhole: (ms: number) => Math.ceil(ms / (hourMs / 4)) * (hourMs / 4),
  },
  {
    table: 'site_texts',
    events: {
      count: `sum((url_path != '') + (page_title != '') + (event_name != ''))`,
      checksum: `sum(if(url_path = '', 0, cityHash64(1::UInt8, url_path)) + if(page_title = '', 0, cityHash64(2::UInt8, page_title))
        + if(event_name = '', 0, cityHash64(3::UInt8, toString(event_name))))`,
      at: 'toDateTime(toStartOfMonth(created_at))',
    },
    rollup: {
      count: 'sum(events)',
      checksum: 'sum(events * cityHash64(toUInt8(kind), text))',
      at: `toDateTime(month, 'UTC')`,
    },
    firstWhole: (ms: number) => {
      const at = new Date(ms);
      const month = Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
      return month === ms ? ms : Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
    },
  },
  {
    table: 'site_visits',
    events: {
      count: 'countIf(event_type = 1)',
      checksum: 'sumIf(cityHash64(visit_id), event_type = 1) + 7 * uniqExact(visit_id)',
      at: visitHour,
    },
    rollup: {
      count: 'sum(pageviews)',
      checksum: 'sum(pageviews * cityHash64(visit_id)) + 7 * uniqExact(visit_id)',
      at: 'start_hour',
    },
    firstWhole: (ms: number) => Math.ceil((ms + beforeVisitMs) / hourMs) * hourMs,
  },
] as const;

/**
 * Compares the rollups of every website in the scope with their events, as far as no TTL has touched either. A block is stored in events before
 * it is in the rollups: what agrees in one of several looks, some seconds apart, is right.
 */
export async function findRollupDrift(client: ClickHouseClient, now: Date, scope: DriftScope): Promise<RollupDrift[]> {
  try {
    const days = await readRetention(client);
    const keptMs = days === undefined ? 0 : now.getTime() - days * dayMs + clocksApartMs;
    const drifts: RollupDrift[] = [];
    for (const comparison of comparisons) {
      const fromMs = Math.max(scope.from?.getTime() ?? 0, days === undefined ? 0 : comparison.firstWhole(keptMs));
      let doubtful = await compare(client, comparison, { ...scope, fromMs });
      for (let attempt = 2; doubtful.length > 0 && attempt <= attempts; attempt++) {
        await delay(pauseMs);
        doubtful = await compare(client, comparison, {
          ...scope,
          websiteIds: doubtful.map(({ websiteId }) => websiteId),
          fromMs,
        });
      }
      drifts.push(...doubtful);
    }
    return drifts;
  } catch (error) {
    throw toReadError(error);
  }
}

/** Some websites with events in the last two days, drawn by lot. */
export async function drawActiveWebsites(client: ClickHouseClient, now: Date, count: number): Promise<string[]> {
  const drawn = await client.query({
    query: `SELECT DISTINCT website_id FROM site_15m WHERE bucket >= toDateTime({sinceSeconds:UInt32}, 'UTC') ORDER BY rand() LIMIT {count:UInt8}`,
    query_params: { sinceSeconds: Math.floor((now.getTime() - 2 * dayMs) / 1000), count },
    format: 'JSONEachRow',
  });
  return (await drawn.json<{ website_id: string }>()).map((row) => row.website_id);
}

async function compare(
  client: ClickHouseClient,
  { table, events, rollup }: (typeof comparisons)[number],
  { websiteIds, fromMs, to }: DriftScope & { fromMs: number },
): Promise<RollupDrift[]> {
  const site = websiteIds ? 'website_id IN {websiteIds:Array(UUID)}' : '1';
  const inScope = (at: string) =>
    `${site} AND ${at} >= toDateTime({from:UInt32}, 'UTC') AND ${at} < toDateTime({to:UInt32}, 'UTC')`;
  const sideOf = ({ count, checksum, at }: typeof events | typeof rollup, from: string, types: string) =>
    `SELECT website_id, toInt64(${count}) AS n, toUInt64(${checksum}) AS sum FROM ${from} WHERE ${inScope(at)} ${types} GROUP BY website_id`;
  const found = await client.query({
    query: `SELECT website_id AS websiteId, e.n AS inEvents, r.n AS inRollup
      FROM (${sideOf(events, 'events', 'AND event_type IN (1, 2)')}) AS e
      FULL JOIN (${sideOf(rollup, table, '')}) AS r USING website_id
      WHERE e.n != r.n OR e.sum != r.sum ORDER BY website_id`,
    query_params: {
      websiteIds,
      from: Math.floor(fromMs / 1000),
      to: Math.min(Math.floor((to?.getTime() ?? Number.MAX_SAFE_INTEGER) / 1000), 4_294_967_295),
    },
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    format: 'JSONEachRow',
  });
  const rows = await found.json<{ websiteId: string; inEvents: number; inRollup: number }>();
  return rows.map((row) => ({ ...row, table }));
}
