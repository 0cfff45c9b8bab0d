import { createHash } from 'node:crypto';
import { eventColumns } from '@meridian/warehouse/event-row';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import type { Engine } from './engine.ts';

/** Days that the data span, up to `lastDay`. */
export const days = 90;
const dayMs = 86_400_000;
/** A fixed day, so that the same seed makes the same rows. */
export const startMs = Date.UTC(2026, 6, 3);

/** Of all events. The others share the rest, a few much of it and most of them little. */
const bigShare = 0.8;
const smallWebsites = 2_700;
/** Events of five visits, 8 a visit in the middle; the first is a bounce. */
const visitLengths = [1, 2, 5, 9, 23];
const groupEvents = 40;
const blockEvents = 1_000_000;

/** Website number 0 is the big one. */
export function websiteIdOf(number: number): string {
  const hex = createHash('md5').update(`site ${number}`).digest('hex');
  return [8, 12, 16, 20, 32].map((end, i, ends) => hex.slice(ends[i - 1] ?? 0, end)).join('-');
}

/** `lastEventMs`: when the last event of all happened. */
export type LoadData = {
  events: number;
  lastEventMs: number;
  bigWebsite: string;
  smallWebsite: string;
  smallEvents: number;
};

/** A database in which the small website is alone. */
export const aloneDatabase = 'alone';

/**
 * Fills the warehouse with the events of the first `daysMade` days of `all` events, and a copy of them in the plain
 * shape, unless an earlier run has. Tells its progress. The rows follow from their number, `all` and `seed` alone.
 */
export async function makeData(engine: Engine, all: number, seed: number, daysMade: number): Promise<LoadData> {
  const events = Math.floor((all * daysMade) / days / groupEvents) * groupEvents;
  const warehouse = createWarehouse(engine.url);
  await warehouse.migrate();
  await warehouse.close();
  await engine.command(plainTable);
  await engine.command('ALTER TABLE plain_events DROP PROJECTION IF EXISTS by_url_path');
  const stored = Number(await engine.command('SELECT count() FROM events FORMAT TSV'));
  if (stored > events) throw new Error(`The data directory has ${stored} events already`);
  const begin = stored === events ? events : stored - (stored % blockEvents);
  if (stored % blockEvents !== 0 && stored < events)
    throw new Error('The data are half of a block: delete the data directory');
  const startedAt = performance.now();
  for (let from = begin; from < events; from += blockEvents) {
    const count = Math.min(blockEvents, events - from);
    await engine.command(insertBlock(from, count, all, seed), {
      insert_deduplication_token: `load-${seed}-${from}`,
    });
    tell(from + count - begin, events - begin, startedAt);
  }
  const copied = Number(await engine.command('SELECT count() FROM plain_events FORMAT TSV'));
  if (copied !== events) {
    console.error('copying into the plain shape …');
    await engine.command('TRUNCATE TABLE plain_events');
    for (const month of [7, 8, 9])
      await engine.command(`INSERT INTO plain_events SELECT * FROM events WHERE toMonth(created_at) = ${month}`);
  }
  const small = await findSmallWebsite(engine);
  await copyAlone(engine, small.smallWebsite);
  console.error('merging, as ClickHouse does by itself two hours after the last event of a week or month …');
  for (const database of [engine.database, aloneDatabase])
    for (const table of ['site_visits', 'site_15m', 'site_texts'])
      await engine.command(`OPTIMIZE TABLE ${database}.${table} FINAL SETTINGS optimize_skip_merged_partitions = 1`);
  const lastEventMs = Number(
    await engine.command('SELECT toUnixTimestamp64Milli(max(created_at)) FROM events FORMAT TSV'),
  );
  return { events, lastEventMs, bigWebsite: websiteIdOf(0), ...small };
}

async function copyAlone(engine: Engine, websiteId: string): Promise<void> {
  const url = new URL(engine.url);
  url.pathname = `/${aloneDatabase}`;
  const warehouse = createWarehouse(url.href);
  await warehouse.migrate();
  await warehouse.close();
  const columns = eventColumns.join(', ');
  await engine.command(
    `INSERT INTO ${aloneDatabase}.events (${columns}) SELECT ${columns} FROM events WHERE website_id = '${websiteId}'`,
    {
      insert_deduplication_token: 'alone',
    },
  );
}

function tell(done: number, all: number, startedAt: number): void {
  const seconds = (performance.now() - startedAt) / 1_000;
  const left = Math.round((seconds * (all - done)) / done);
  console.error(`${done.toLocaleString('en-US')} of ${all.toLocaleString('en-US')} events, ${left} s left`);
}

/** One of about 100,000 events. */
async function findSmallWebsite(engine: Engine): Promise<{ smallWebsite: string; smallEvents: number }> {
  const found = await engine.command(
    `SELECT website_id, count() AS n FROM events WHERE website_id != '${websiteIdOf(0)}' GROUP BY website_id ORDER BY abs(toInt64(n) - 100000), website_id LIMIT 1 FORMAT TSV`,
  );
  const [smallWebsite = '', smallEvents = '0'] = found.trim().split('\t');
  return { smallWebsite, smallEvents: Number(smallEvents) };
}

/** One raw table, sorted by hour and then website: the shape of most systems of this kind. */
const plainTable = `
CREATE TABLE IF NOT EXISTS plain_events AS events
ENGINE = MergeTree PARTITION BY toYYYYMM(created_at)
PRIMARY KEY (toStartOfHour(created_at), website_id)
ORDER BY (toStartOfHour(created_at), website_id, visit_id, created_at)`;

/** A number below 2^64 that follows from `of` and a name. */
const hash = (of: string, name: string, seed: number): string => `cityHash64(${of}, '${name}', ${seed})`;
const share = (of: string, name: string, seed: number): string => `(${hash(of, name, seed)} / 18446744073709551616.)`;

/** A UUIDv7 of an instant (Unix ms), the 12 bits behind it and the last 64. */
const uuidV7 = (ms: string, bits12: string, last64: string): string =>
  `reinterpretAsUUID(bitOr(bitShiftLeft(toUInt128(bitOr(bitShiftRight(bitShiftLeft(${last64}, 2), 2), 9223372036854775808)), 64), toUInt128(bitOr(bitShiftLeft(toUInt64(${ms}), 16), bitOr(28672, ${bits12})))))`;

/** Ids as `createUuidV7Minter` makes them, of four collectors; their counters stand higher than they would. */
const collectors = 4;
const node = (of: string, seed: number): string => hash(`${hash(of, 'collector', seed)} % ${collectors}`, 'node', seed);
const eventId = (seed: number): string => uuidV7('event_ms', 'number % 4096', node('number', seed));
const visitId = (seed: number): string =>
  uuidV7(
    'visit_ms',
    `bitShiftRight(${node('visit', seed)}, 52)`,
    `bitOr(bitShiftLeft(${node('visit', seed)}, 32), toUInt32(visit))`,
  );

function insertBlock(from: number, count: number, all: number, seed: number): string {
  const visits = (all / groupEvents) * visitLengths.length;
  const visitOf = visitLengths.flatMap((length, visit) => Array.from({ length }, () => visit));
  const stepOf = visitLengths.flatMap((length) => Array.from({ length }, (_, step) => step));
  const pick = (values: readonly string[], of: string, name: string) =>
    `[${values.map((value) => `'${value}'`)}][1 + toUInt32(pow(${share(of, name, seed)}, 2) * ${values.length})]`;
  return `
INSERT INTO events (website_id, created_at, event_id, session_id, visit_id, event_type, hostname, url_path, page_title, referrer_domain,
  event_name, browser, os, device, screen, language, country, region, city, utm_source, utm_medium, utm_campaign)
WITH
  intDiv(number, ${groupEvents}) * ${visitLengths.length} + [${visitOf}][1 + number % ${groupEvents}] AS visit,
  [${stepOf}][1 + number % ${groupEvents}] AS step,
  if(${share('visit', 'big', seed)} < ${bigShare}, 0, 1 + toUInt32(pow(${share('visit', 'site', seed)}, 3) * ${smallWebsites})) AS site,
  toUInt64(${startMs} + (visit + ${share('visit', 'at', seed)}) / ${visits} * ${days * dayMs - 3_600_000}) AS visit_ms,
  visit_ms + step * (5000 + ${hash('visit', 'pace', seed)} % 90000) + if(step = 0, 0, ${hash('number', 'ms', seed)} % 4000) AS event_ms,
  MD5(concat('site ', toString(site))) AS md5,
  ${hash('visit', 'visitor', seed)} % toUInt64(${visits} * 0.6) AS visitor,
  toUInt32(pow(${share('number', 'path', seed)}, 4) * if(site = 0, 50000, 400)) AS page,
  step > 0 AND ${hash('number', 'type', seed)} % 100 < 8 AS is_custom,
  step > 2 AND ${hash('visit', 'turned', seed)} % 100 = 0 AS is_turned
SELECT
  reinterpretAsUUID(bitOr(bitShiftLeft(toUInt128(reinterpretAsUInt64(reverse(substring(md5, 9, 8)))), 64), toUInt128(reinterpretAsUInt64(reverse(substring(md5, 1, 8)))))),
  fromUnixTimestamp64Milli(toInt64(event_ms), 'UTC'),
  ${eventId(seed)},
  reinterpretAsUUID(sipHash128(site, visitor)),
  ${visitId(seed)},
  if(is_custom, 2, 1),
  concat('site-', toString(site), '.example'),
  concat(['/', '/blog/', '/docs/', '/shop/'][1 + page % 4], toString(page), if(${hash('number', 'rare', seed)} % 200000 = 0, '/needle', '')),
  concat('Page ', toString(page)),
  if(step = 0, ${pick(['', 'google.com', 'bing.com', 'news.ycombinator.com', 'x.com', 'github.com', 'duckduckgo.com'], 'visit', 'referrer')}, ''),
  if(is_custom, concat('event ', toString(${hash('number', 'name', seed)} % 20)), ''),
  ${pick(['chrome', 'safari', 'firefox', 'edge-chromium', 'samsung', 'opera'], 'visitor', 'browser')},
  ${pick(['Windows 10', 'Mac OS', 'iOS', 'Android OS', 'Linux'], 'visitor', 'os')},
  ${pick(['desktop', 'mobile', 'laptop', 'tablet'], 'visitor', 'device')},
  if(is_turned, '844x390', ${pick(['1920x1080', '390x844', '1440x900', '2560x1440', '360x800'], 'visitor', 'screen')}),
  ${pick(['en-US', 'de-DE', 'fr-FR', 'es-ES', 'pt-BR', 'ja-JP'], 'visitor', 'language')},
  ${pick(['US', 'DE', 'FR', 'GB', 'BR', 'JP', 'IN', 'CA', 'ES', 'IT', 'NL', 'PL'], 'visitor', 'country')} AS country,
  concat(country, '-', toString(${hash('visitor', 'region', seed)} % 12)),
  concat('City ', toString(${hash('visitor', 'city', seed)} % 400)),
  if(${hash('visit', 'utm', seed)} % 10 = 0, ${pick(['newsletter', 'ads', 'partner'], 'visit', 'source')}, '') AS source,
  if(source = '', '', 'cpc'),
  if(source = '', '', concat('campaign ', toString(visit % 12)))
FROM numbers(${from}, ${count})`;
}
