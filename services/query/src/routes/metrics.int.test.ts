import { ExpandedMetric, Metric, MetricType } from '@meridian/contract/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
let site: Awaited<ReturnType<typeof api.siteWith>>;
beforeAll(async () => {
  api = await createStatisticsApi();
  site = await api.siteWith([
    { t: '10:00', urlPath: '/a', pageTitle: 'Home', hostname: 'shop.example', utmSource: 'news' },
    { t: '10:01', urlPath: '/b', pageTitle: 'List' },
    { t: '12:00', session: 'v', visit: 'w', urlPath: '/a', pageTitle: 'Home' },
  ]);
});
afterAll(() => api.close());

test('every type is answered with a bare array', async () => {
  for (const type of MetricType.options) {
    const [metrics, expanded] = [await site.ask('/metrics', { type }), await site.ask('/metrics/expanded', { type })];
    expect(z.array(Metric).parse(metrics), type).toEqual(metrics);
    expect(z.array(ExpandedMetric).parse(expanded), type).toEqual(expanded);
  }
});

test('most first; limit, offset, search and filters apply', async () => {
  const all = [
    { x: '/a', y: 2 },
    { x: '/b', y: 1 },
  ];
  expect(await site.ask('/metrics', { type: 'path' })).toEqual(all);
  expect(await site.ask('/metrics', { type: 'path', limit: 1 })).toEqual(all.slice(0, 1));
  expect(await site.ask('/metrics', { type: 'path', limit: 5_000, offset: 1 })).toEqual(all.slice(1));
  expect(await site.ask('/metrics', { type: 'title', search: 'ho' })).toEqual([{ x: 'Home', y: 2 }]);
  expect(await site.ask('/metrics', { type: 'title', path: '/b' })).toEqual([{ x: 'List', y: 1 }]);
  expect(await site.ask('/metrics/expanded', { type: 'path', limit: 1 })).toEqual([
    { name: '/a', pageviews: 2, visitors: 2, visits: 2, bounces: 1, totaltime: 60 },
  ]);
});

test('old names of types work', async () => {
  for (const [old, type] of [
    ['url', 'path'],
    ['host', 'hostname'],
    ['utm_source', 'utmSource'],
  ] as const)
    expect(await site.ask('/metrics', { type: old })).toEqual(await site.ask('/metrics', { type }));
});

test.each([
  [{}, 'type'],
  [{ type: 'colour' }, 'type'],
  [{ type: '__proto__' }, 'type'],
  [{ type: 'constructor' }, 'type'],
  [{ type: 'path', limit: 'x' }, 'limit'],
  [{ type: 'path', limit: '-1' }, 'limit'],
  [{ type: 'path', offset: '-1' }, 'offset'],
])('%j is 400 that names %s', async (query, name) => {
  const { status, json } = await site.get('/metrics', query);
  expect([status, Object.keys(json.error.properties)]).toEqual([400, [name]]);
});

test('active: visitors of the last five minutes, and no parameters', async () => {
  const nowMs = Date.now();
  const busy = await api.siteWith([
    { t: nowMs - 240_000, session: 'a', visit: 'a' },
    { t: nowMs - 1_000, session: 'a', visit: 'a' },
    { t: nowMs - 200_000, session: 'b', visit: 'b', eventType: 2, eventName: 'x' },
    { t: nowMs - 301_000, session: 'gone', visit: 'gone' },
    { t: nowMs - 1_000, session: 'measured', visit: 'm', eventType: 5 },
  ]);
  expect(await busy.ask('/active', { startAt: 0, endAt: 1, nonsense: 1 })).toEqual({ visitors: 2 });
  api.clock.offsetMs = 100_000;
  expect(await busy.ask('/active')).toEqual({ visitors: 1 });
  api.clock.offsetMs = 300_000;
  expect(await busy.ask('/active')).toEqual({ visitors: 0 });
  api.clock.offsetMs = 0;
});
