import { afterEach, expect, test, vi } from 'vitest';
import { counter, counters, createBuckets, createMetricsText, gauge, histogram, type Metric } from './metrics.ts';

afterEach(() => void vi.useRealTimers());

/** The lines of one metric, its series included. */
async function linesOf(metric: Metric): Promise<string[]> {
  const text = await createMetricsText([metric]).read();
  return text.split('\n').filter((line) => line.startsWith(metric.name));
}

test('a counter is read when it is asked for, not when it is made', async () => {
  let value = 1;
  const metric = counter('test_things_total', 'Things.', () => value);
  const text = createMetricsText([metric]);
  value = 7;
  expect(await text.read()).toContain('# TYPE test_things_total counter\ntest_things_total 7\n');
});

test('counts by a label are one series each, also those that are 0', async () => {
  const metric = counters('test_things_total', 'Things.', 'kind', { good: 3, bad: 0 });
  expect(await linesOf(metric)).toEqual(['test_things_total{kind="good"} 3', 'test_things_total{kind="bad"} 0']);
});

test('a value belongs to the first bucket whose bound it does not exceed, and buckets count all below them', async () => {
  const buckets = createBuckets([1, 2.5]);
  for (const value of [0.5, 1, 2, 2.5, 2.6, 1_000]) buckets.observe(value);
  const metric = histogram('test_seconds', 'Time.', () => [[{ route: 'a' }, buckets]]);
  expect(await linesOf(metric)).toEqual([
    'test_seconds_bucket{route="a",le="1"} 2',
    'test_seconds_bucket{route="a",le="2.5"} 4',
    'test_seconds_bucket{route="a",le="+Inf"} 6',
    'test_seconds_sum{route="a"} 1008.6',
    'test_seconds_count{route="a"} 6',
  ]);
});

test('what cannot be read is absent and never 0, and keeps no other metric away', async () => {
  const broken = gauge('test_broken', 'Cannot be read.', () => Promise.reject(new Error('Redis is away')));
  const whole = gauge('test_whole', 'Can be read.', async () => [{ value: 5 }]);
  const text = await createMetricsText([broken, whole]).read();
  expect(text.split('\n').filter((line) => line.startsWith('test_'))).toEqual(['test_whole 5']);
});

test('what does not answer within a second is absent', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const silent = gauge('test_silent', 'Never answers.', () => new Promise(() => {}));
  const lines = linesOf(silent);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await lines).toEqual([]);
});

test('a label cannot break out of its line', async () => {
  const metric = gauge('test_odd', 'Odd.', async () => [{ value: 1, labels: { text: 'a"b\\c\nd' } }]);
  expect(await linesOf(metric)).toEqual(['test_odd{text="a\\"b\\\\c\\nd"} 1']);
});

test('the process itself is measured: memory, event loop, garbage collection', async () => {
  const text = await createMetricsText([]).read();
  for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds', 'nodejs_gc_duration_seconds'])
    expect(text).toContain(`# TYPE ${name} `);
});
