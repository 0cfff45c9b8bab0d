-- Raw events, the one source of every number: pageviews (1), custom events (2) and performance measurements (5).
-- Trap: ClickHouse compares UUIDs by their second half first. Where the order of event ids matters (equal times), UUIDToNum() gives the order of their text.
-- visitor_key: 63 bits of the session's hash, top bit set where the event is identified: max() over a visit picks its identified session, and
-- bitAnd(…, 9223372036854775807) is the session again.
CREATE TABLE IF NOT EXISTS {{local:events}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  created_at DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
  event_id UUID CODEC(NONE),
  session_id UUID CODEC(LZ4),
  visit_id UUID CODEC(LZ4),
  visitor_key UInt64 MATERIALIZED bitOr(bitShiftRight(cityHash64(session_id), 1), if(distinct_id = '', 0, 9223372036854775808)) CODEC(LZ4),
  event_type UInt8 CODEC(LZ4),
  hostname LowCardinality(String),
  url_path LowCardinality(String),
  url_query String CODEC(ZSTD(1)),
  page_title LowCardinality(String),
  referrer_domain LowCardinality(String),
  referrer_path String CODEC(ZSTD(1)),
  referrer_query String CODEC(ZSTD(1)),
  event_name LowCardinality(String),
  tag LowCardinality(String),
  distinct_id String CODEC(ZSTD(1)),
  browser LowCardinality(String),
  os LowCardinality(String),
  device LowCardinality(String),
  screen LowCardinality(String),
  language LowCardinality(String),
  country LowCardinality(String),
  region LowCardinality(String),
  city LowCardinality(String),
  utm_source LowCardinality(String),
  utm_medium LowCardinality(String),
  utm_campaign LowCardinality(String),
  utm_content LowCardinality(String),
  utm_term LowCardinality(String),
  gclid String CODEC(ZSTD(1)),
  fbclid String CODEC(ZSTD(1)),
  msclkid String CODEC(ZSTD(1)),
  ttclid String CODEC(ZSTD(1)),
  li_fat_id String CODEC(ZSTD(1)),
  twclid String CODEC(ZSTD(1)),
  data String CODEC(ZSTD(1)),
  lcp Nullable(Float64) CODEC(LZ4),
  inp Nullable(Float64) CODEC(LZ4),
  fcp Nullable(Float64) CODEC(LZ4),
  ttfb Nullable(Float64) CODEC(LZ4),
  cls Nullable(Float64) CODEC(LZ4),
  PROJECTION by_path (SELECT website_id, event_type, url_path, created_at, visit_id ORDER BY website_id, event_type, url_path, created_at)
) ENGINE = {{engine:MergeTree}}
PARTITION BY toYYYYMM(created_at)
PRIMARY KEY (website_id, created_at)
ORDER BY (website_id, created_at, UUIDToNum(event_id))
SETTINGS {{deduplication_window}}, lightweight_mutation_projection_mode = 'rebuild';

-- One row per visit after merging, over its events of type 1 and 2. visit_id is a UUIDv7 whose time is the visit's start as first seen, so that all
-- rows of a visit share one key and partition; a late event may precede that start, so first_at and last_at are instants of their own.
-- Trap: SELECT entry.path … FINAL reads the path of any one of the rows; tupleElement(entry, 'path') that of the first pageview.
-- attributes_min <> attributes_max: the visit's events differ in browser … city; such a visit must be answered from events.
CREATE TABLE IF NOT EXISTS {{local:visits}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  start_hour DateTime('UTC') CODEC(Delta(4), LZ4),
  visit_id UUID CODEC(LZ4),
  visitor_key SimpleAggregateFunction(max, UInt64) CODEC(NONE),
  first_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(Delta(8), LZ4),
  last_at SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(Delta(8), LZ4),
  pageviews SimpleAggregateFunction(sumWithOverflow, UInt32) CODEC(LZ4),
  entry SimpleAggregateFunction(min, Tuple(at Int64, event FixedString(16), path String)),
  exit SimpleAggregateFunction(max, Tuple(at Int64, event FixedString(16), path String)),
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

-- entry and exit are those of pageviews: other events carry a value that any pageview beats.
CREATE MATERIALIZED VIEW IF NOT EXISTS visits_mv {{on_cluster}} TO {{local:visits}} AS
WITH
  cityHash64({{local:events}}.browser, {{local:events}}.os, {{local:events}}.device, {{local:events}}.screen, {{local:events}}.language, {{local:events}}.country, {{local:events}}.region, {{local:events}}.city) AS attributes,
  tuple(toUnixTimestamp64Milli(created_at), UUIDToNum(event_id), toString(url_path)) AS page
SELECT
  website_id,
  toStartOfHour(UUIDv7ToDateTime(visit_id, 'UTC')) AS start_hour,
  visit_id,
  max(visitor_key) AS visitor_key,
  min(created_at) AS first_at,
  max(created_at) AS last_at,
  toUInt32(countIf(event_type = 1)) AS pageviews,
  min(if(event_type = 1, page, tuple(9223372036854775807, toFixedString('', 16), ''))) AS entry,
  max(if(event_type = 1, page, tuple(-9223372036854775808, toFixedString('', 16), ''))) AS exit,
  min(browser) AS browser, min(os) AS os, min(device) AS device, min(screen) AS screen,
  min(language) AS language, min(country) AS country, min(region) AS region, min(city) AS city,
  min(attributes) AS attributes_min,
  max(attributes) AS attributes_max
FROM {{local:events}}
WHERE event_type IN (1, 2)
GROUP BY website_id, start_hour, visit_id;

-- Additive counts (signed, so that they can be corrected) per quarter of an hour, the longest step that divides every zone's offset from UTC.
CREATE TABLE IF NOT EXISTS {{local:site_15m}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  bucket DateTime('UTC') CODEC(Delta(4), LZ4),
  pageviews SimpleAggregateFunction(sum, Int64) CODEC(LZ4),
  custom_events SimpleAggregateFunction(sum, Int64) CODEC(LZ4)
) ENGINE = {{engine:AggregatingMergeTree}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (website_id, bucket)
SETTINGS {{deduplication_window}};

CREATE MATERIALIZED VIEW IF NOT EXISTS site_15m_mv {{on_cluster}} TO {{local:site_15m}} AS
SELECT website_id, toStartOfFifteenMinutes(created_at) AS bucket, toInt64(countIf(event_type = 1)) AS pageviews, toInt64(countIf(event_type = 2)) AS custom_events
FROM {{local:events}}
WHERE event_type IN (1, 2)
GROUP BY website_id, bucket;

-- Pageviews of each path per UTC day: ranks the candidates for "top pages".
CREATE TABLE IF NOT EXISTS {{local:path_day}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  day Date CODEC(LZ4),
  url_path String CODEC(ZSTD(1)),
  pageviews SimpleAggregateFunction(sum, Int64) CODEC(LZ4)
) ENGINE = {{engine:AggregatingMergeTree}}
PARTITION BY toYYYYMM(day)
ORDER BY (website_id, day, url_path)
SETTINGS {{deduplication_window}};

CREATE MATERIALIZED VIEW IF NOT EXISTS path_day_mv {{on_cluster}} TO {{local:path_day}} AS
SELECT website_id, toDate(created_at) AS day, toString(url_path) AS url_path, toInt64(count()) AS pageviews
FROM {{local:events}}
WHERE event_type = 1
GROUP BY website_id, day, url_path;

-- What identify calls told about a session: per key the value of the latest event time wins.
CREATE TABLE IF NOT EXISTS {{local:session_properties}} {{on_cluster}} (
  website_id UUID CODEC(LZ4),
  session_id UUID CODEC(LZ4),
  property_key String CODEC(ZSTD(1)),
  created_at DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
  event_id UUID CODEC(NONE),
  value_type Enum8('string' = 1, 'number' = 2, 'boolean' = 3),
  string_value String CODEC(ZSTD(1)),
  number_value Float64
) ENGINE = {{engine:ReplacingMergeTree(created_at)}}
ORDER BY (website_id, session_id, property_key)
SETTINGS {{deduplication_window}};
