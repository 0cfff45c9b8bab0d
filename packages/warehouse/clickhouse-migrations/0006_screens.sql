-- screens: those of all events of a visit, so that they are ranked by visits' rows alone: a phone that is turned has two, and one visit in a hundred is such.
-- As a map, whose keys have an order: so rows are compared with events as they are.
-- Parts from before tell the least and the greatest one; migrate() brings those between. All replicas have the column before the view writes it: ClickHouse
-- does not compare the two.
ALTER TABLE {{local:site_visits}} {{on_cluster}}
  ADD COLUMN IF NOT EXISTS screens SimpleAggregateFunction(maxMap, Tuple(Array(String), Array(UInt8)))
    DEFAULT if(screen = screen_max, ([toString(screen)], [toUInt8(1)]), ([toString(screen), toString(screen_max)], [toUInt8(1), toUInt8(1)]))
  SETTINGS alter_sync = 2;

-- One that was cut short may have left the view away.
ATTACH TABLE IF NOT EXISTS site_visits_mv {{on_cluster}};

-- As in migration 0005, and the screens.
ALTER TABLE site_visits_mv {{on_cluster}} MODIFY QUERY
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
  max(attributes) AS attributes_max,
  max({{local:events}}.browser) AS browser_max, max({{local:events}}.os) AS os_max, max({{local:events}}.device) AS device_max, max({{local:events}}.screen) AS screen_max,
  max({{local:events}}.language) AS language_max, max({{local:events}}.country) AS country_max, max({{local:events}}.region) AS region_max, max({{local:events}}.city) AS city_max,
  maxMap([toString({{local:events}}.screen)], [toUInt8(1)]) AS screens
FROM {{local:events}}
WHERE event_type IN (1, 2)
GROUP BY website_id, start_hour, visit_id;

-- A view that was changed tells blocks apart otherwise than one that was loaded (26.7): a block that is sent before ClickHouse's next start and once more after
-- it would count twice. So it is loaded now; what comes between the two is found by the comparison that ends this migration.
DETACH TABLE IF EXISTS site_visits_mv {{on_cluster}} SYNC;
ATTACH TABLE IF NOT EXISTS site_visits_mv {{on_cluster}};
