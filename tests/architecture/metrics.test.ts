import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { collectMetrics, createCollectCounts } from '@meridian/ingest/collect-counts';
import { createQueryCounts } from '@meridian/query/query-counts';
import { regionMetrics } from '@meridian/worker/region-metrics';
import { createWorkerCounts, workerMetrics } from '@meridian/worker/worker-counts';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';

const read = (file: string) => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');
const redis = new Redis({ lazyConnect: true });
const query = createQueryCounts();
query.request({ method: 'GET', route: '/api/things/:id', status: '200' }, 0.1);
const counted = [...collectMetrics(createCollectCounts()), ...workerMetrics(createWorkerCounts()), ...query.metrics()];
const metrics = [...counted, ...regionMetrics({ redis, partitions: 1, failedJobs: { count: async () => 0 } })];
const names = metrics.map(({ name }) => name).sort();
/** The users that ClickHouse has for us are called alike. */
const users = ['meridian_migrator', 'meridian_writer', 'meridian_reader'];
const namesIn = (text: string) =>
  [...new Set(text.match(/\bmeridian_[a-z_]+/g))].filter((name) => !users.includes(name)).sort();

test('no two metrics have one name, also where all services are one process', () => {
  expect(new Set(names).size).toBe(names.length);
});

test('counters end in _total, and nothing else does', () => {
  for (const { name, type } of metrics) expect(name.endsWith('_total'), name).toBe(type === 'counter');
});

test('labels are few and known', async () => {
  const samples = (await Promise.all(counted.map((metric) => metric.read()))).flat();
  const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels ?? {})));
  expect([...labels].sort()).toEqual(['code', 'le', 'method', 'outcome', 'reason', 'route', 'status']);
});

test('the README names every metric, and no other', () => {
  expect(namesIn(read('README.md'))).toEqual(names);
});

test('alarms and dashboards are made of metrics that exist, and every metric is on a dashboard', () => {
  const series = metrics.flatMap(({ name, type }) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  const alarmed = namesIn(read('infra/prometheus/alerts.yaml'));
  const shown = ['events', 'questions'].flatMap((board) => namesIn(read(`infra/grafana/${board}.json`)));
  expect(alarmed.length).toBeGreaterThan(4);
  expect([...alarmed, ...shown].filter((name) => !series.includes(name))).toEqual([]);
  expect(names.filter((name) => !shown.some((one) => one.replace(/_(bucket|count)$/, '') === name))).toEqual([]);
});
