-- Rollups that questions are answered from: site_visits takes the place of visits, site_texts that of path_day. What was stored before
-- is in them when migrate() has filled them, which is before it notes this file as applied; until then questions read events.

-- One row per visit after merging, over its events of type 1 and 2. visit_id is a UUIDv7 whose time is the visit's start as first seen, so that all
-- rows of a visit share one key and partition; a late event may precede that start, so first_at and last_at are instants of their own.
-- visitor_key_min <> visitor_key: some events are identified and some are not; attributes_min <> attributes_max: they differ in browser … city.
-- quarters: bit i is set when an event lies in the i-th quarter of an hour from one hour before start_hour on, bit 63 when one lies
-- outside of the first 63; such a visit is in stray_visits too.
-- Trap: SELECT entry.path … FINAL reads the path of any one of the rows; tupleElement(entry, 'path') that of the first pageview.
CREATE TABLE IF NOT EXISTS {{local:site_visits}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  start_hour DateTime('UTC') CODEC(Delta(4), LZ4),
  visit_id UUID CODEC(LZ4),
  visitor_key SimpleAggregateFunction(max, UInt64) CODEC(NONE),
  visitor_key_min SimpleAggregateFunction(min, UInt64) CODEC(NONE),
  first_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(Delta(8), LZ4),
  last_at SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(Delta(8), LZ4),
  quarters SimpleAggregateFunction(groupBitOr, UInt64) CODEC(LZ4),
  pageviews SimpleAggregateFunction(sumWithOverflow, UInt32) CODEC(LZ4),
  entry SimpleAggregateFunction(min, Tuple(at Int64, event FixedString(16), path String)),
  exit SimpleAggregateFunction(max, Tuple(at Int64, event FixedString(16), path String)),
  source SimpleAggregateFunction(min, Tuple(at Int64, event FixedString(16), referrer_domain String, hostname String,
    utm_source String, utm_medium String, has_click_id UInt8)),
  referrers SimpleAggregateFunction(sumMap, Tuple(Array(String), Array(UInt64))),
  browser SimpleAggregateFunction(min, LowCardinality(String)),
  os SimpleAggregateFunction(min, LowCardinality(String)),
  device SimpleAggregateFunction(min, LowCardinality(String)),
  screen SimpleAggregateFunction(min, LowCardinality(String)),
  language SimpleAggregateFunction(min, LowCardinality(String)),
  country SimpleAggregateFunction(min, LowCardinality(String)),
  region SimpleAggregateFunction(min, LowCardinality(String)),
  city SimpleAggregateFunction(min, LowCardinality(String)),
  attributes_min SimpleAggregateFunction(min, UInt64) CODEC(NONE),
  attributes_max SimpleAggregateFunction(max, UInt64) CODEC(NONE)
) ENGINE = {{engine:AggregatingMergeTree}}
PARTITION BY toMonday(start_hour)
ORDER BY (website_id, start_hour, visit_id)
SETTINGS {{deduplication_window}},
  min_age_to_force_merge_seconds = 7200, min_age_to_force_merge_on_partition_only = 1;

-- entry and exit are those of pageviews: other events carry a value that any pageview beats. Trap: without toInt64 the types of a number differ where the
-- definition is asked of a Distributed table.
CREATE MATERIALIZED VIEW IF NOT EXISTS site_visits_mv {{on_cluster}} TO {{local:site_visits}} AS
WITH
  cityHash64({{local:events}}.browser, {{local:events}}.os, {{local:events}}.device, {{local:events}}.screen, {{local:events}}.language, {{local:events}}.country, {{local:events}}.region, {{local:events}}.city) AS attributes,
  toUnixTimestamp64Milli(created_at) AS at,
  UUIDToNum(event_id) AS event,
  tuple(at, event, toString(url_path)) AS page,
  at - toUnixTimestamp(toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC'))) * 1000 + 3600000 AS window_ms,
  referrer_domain IN (hostname, replaceRegexpOne(hostname, '^www\\.', '')) AS is_own_referrer
SELECT
  website_id,
  toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC')) AS start_hour,
  visit_id,
  max({{local:events}}.visitor_key) AS visitor_key,
  min({{local:events}}.visitor_key) AS visitor_key_min,
  min(created_at) AS first_at,
  max(created_at) AS last_at,
  groupBitOr(bitShiftLeft(toUInt64(1), if(window_ms >= 0 AND window_ms < 56700000, toUInt8(intDiv(window_ms, 900000)), 63))) AS quarters,
  toUInt32(countIf(event_type = 1)) AS pageviews,
  min(if(event_type = 1, page, tuple(toInt64(9223372036854775807), toFixedString('', 16), ''))) AS entry,
  max(if(event_type = 1, page, tuple(toInt64(-9223372036854775808), toFixedString('', 16), ''))) AS exit,
  min(tuple(at, event, toString({{local:events}}.referrer_domain), toString({{local:events}}.hostname), toString({{local:events}}.utm_source), toString({{local:events}}.utm_medium),
    toUInt8(gclid != '' OR msclkid != '' OR ttclid != '' OR li_fat_id != '' OR twclid != ''))) AS source,
  sumMap(if(referrer_domain = '' OR is_own_referrer, [], [toString(referrer_domain)]), if(referrer_domain = '' OR is_own_referrer, [], [toUInt64(1)])) AS referrers,
  min(browser) AS browser, min(os) AS os, min(device) AS device, min(screen) AS screen,
  min(language) AS language, min(country) AS country, min(region) AS region, min(city) AS city,
  min(attributes) AS attributes_min,
  max(attributes) AS attributes_max
FROM {{local:events}}
WHERE event_type IN (1, 2)
GROUP BY website_id, start_hour, visit_id;

-- Visits with an event far from their start: what looks for visits near a range's bounds finds the others by start_hour.
CREATE TABLE IF NOT EXISTS {{local:stray_visits}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  start_hour DateTime('UTC') CODEC(Delta(4), LZ4),
  visit_id UUID CODEC(LZ4)
) ENGINE = {{engine:ReplacingMergeTree}}
PARTITION BY toYYYYMM(start_hour)
ORDER BY (website_id, start_hour, visit_id)
SETTINGS {{deduplication_window}};

CREATE MATERIALIZED VIEW IF NOT EXISTS stray_visits_mv {{on_cluster}} TO {{local:stray_visits}} AS
WITH toUnixTimestamp64Milli(created_at) - toUnixTimestamp(toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC'))) * 1000 + 3600000 AS window_ms
SELECT website_id, toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC')) AS start_hour, visit_id
FROM {{local:events}}
WHERE event_type IN (1, 2) AND NOT (window_ms >= 0 AND window_ms < 56700000)
GROUP BY website_id, start_hour, visit_id;

-- The texts that occur in a month (UTC) and how many events of type 1 and 2 carry each: candidates of a ranking, and what a search looks through.
CREATE TABLE IF NOT EXISTS {{local:site_texts}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  month Date CODEC(LZ4),
  kind Enum8('path' = 1, 'title' = 2, 'event' = 3) CODEC(LZ4),
  text String CODEC(ZSTD(1)),
  events SimpleAggregateFunction(sum, Int64) CODEC(LZ4)
) ENGINE = {{engine:AggregatingMergeTree}}
PARTITION BY toYYYYMM(month)
ORDER BY (website_id, month, kind, text)
SETTINGS {{deduplication_window}};

CREATE MATERIALIZED VIEW IF NOT EXISTS site_texts_mv {{on_cluster}} TO {{local:site_texts}} AS
SELECT website_id, month, kind, text, toInt64(count()) AS events
FROM (
  SELECT
    website_id,
    toStartOfMonth(created_at) AS month,
    arrayJoin(CAST([('path', toString(url_path)), ('title', toString(page_title)), ('event', toString(event_name))],
      'Array(Tuple(kind Enum8(\'path\' = 1, \'title\' = 2, \'event\' = 3), text String))')) AS value,
    value.kind AS kind,
    value.text AS text
  FROM {{local:events}}
  WHERE event_type IN (1, 2)
)
WHERE text != ''
GROUP BY website_id, month, kind, text;

DROP VIEW IF EXISTS visits_mv {{on_cluster}};
DROP TABLE IF EXISTS {{local:visits}} {{on_cluster}};
DROP VIEW IF EXISTS path_day_mv {{on_cluster}};
DROP TABLE IF EXISTS {{local:path_day}} {{on_cluster}};

-- Measured with 50,000 paths: LowCardinality takes as much room as String and reads 4 to 10 times slower.
ALTER TABLE {{local:events}} {{on_cluster}} DROP PROJECTION IF EXISTS by_path;
ALTER TABLE {{local:events}} {{on_cluster}} MODIFY COLUMN url_path String CODEC(LZ4), MODIFY COLUMN page_title String CODEC(LZ4);
ALTER TABLE {{local:events}} {{on_cluster}} ADD PROJECTION IF NOT EXISTS by_url_path
  (SELECT website_id, event_type, url_path, created_at, visit_id, visitor_key, event_name ORDER BY website_id, event_type, url_path, created_at);
ALTER TABLE {{local:events}} {{on_cluster}} MATERIALIZE PROJECTION by_url_path;
