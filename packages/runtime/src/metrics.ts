import { collectDefaultMetrics, type Metric as PromMetric, Registry } from 'prom-client';
import { withinMs } from './within-ms.ts';

/** A read that takes longer gives no values: better none than old ones, and the others are not kept waiting. */
const readMaxMs = 1_000;

type Labels = Readonly<Record<string, string>>;

/** One number of a metric. `metricName`: of the series, where it is not the metric's own (histograms). */
type Sample = { value: number; labels?: Labels; metricName?: string };

/**
 * A metric that is read when somebody asks for it; until then its owner counts in plain numbers, which cost
 * nanoseconds. Names end in their unit (`_seconds`, `_bytes`) or, for counters, in `_total`. Labels have few values,
 * known beforehand: never a website, an address, a key or a path. What `read` cannot tell is absent, never 0.
 */
export type Metric = {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  read(): readonly Sample[] | Promise<readonly Sample[]>;
};

/** A number that only grows. */
export function counter(name: string, help: string, read: () => number): Metric {
  return { name, help, type: 'counter', read: () => [{ value: read() }] };
}

/** Numbers that only grow, one for each value of the label. */
export function counters(name: string, help: string, label: string, counts: Readonly<Record<string, number>>): Metric {
  const read = () => Object.entries(counts).map(([key, value]) => ({ value, labels: { [label]: key } }));
  return { name, help, type: 'counter', read };
}

/** Values that come and go, each with its labels. */
export function gauge(name: string, help: string, read: () => Promise<readonly Sample[]>): Metric {
  return { name, help, type: 'gauge', read };
}

/** How values are distributed, one distribution for each set of labels. */
export function histogram(name: string, help: string, series: () => Iterable<readonly [Labels, Buckets]>): Metric {
  const read = () => [...series()].flatMap(([labels, buckets]) => buckets.samples(name, labels));
  return { name, help, type: 'histogram', read };
}

/** Counts of values up to each bound. */
export type Buckets = {
  observe(value: number): void;
  /** The series that Prometheus makes of a histogram with that name. */
  samples(name: string, labels: Labels): Sample[];
};

/** `bounds`: ascending. To observe a value costs some nanoseconds, which a histogram of prom-client does not. */
export function createBuckets(bounds: readonly number[]): Buckets {
  const limits = Float64Array.of(...bounds, Number.POSITIVE_INFINITY);
  const counts = new Float64Array(limits.length);
  let sum = 0;
  return {
    observe(value) {
      let at = 0;
      while (value > (limits[at] ?? value)) at++;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
    },
    samples(name, labels) {
      let count = 0;
      const buckets = Array.from(limits, (limit, at) => {
        count += counts[at] ?? 0;
        const le = limit === Number.POSITIVE_INFINITY ? '+Inf' : String(limit);
        return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    },
  };
}

/** Bounds for durations of requests, in seconds. */
export const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/**
 * The metrics given and those of the process (CPU, memory, event loop, garbage collection) as Prometheus reads them.
 */
export function createMetricsText(metrics: readonly Metric[]): { contentType: string; read(): Promise<string> } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const metric of metrics) registry.registerMetric(toPromMetric(metric));
  return { contentType: registry.contentType, read: () => registry.metrics() };
}

/** Of a metric prom-client asks for no more than its name and `get`; its types know its own classes only. */
function toPromMetric({ name, help, type, read }: Metric): PromMetric {
  const get = async () => ({ name, help, type, aggregator: 'sum', values: await readInTime(read) });
  return { name, get } as unknown as PromMetric;
}

async function readInTime(read: Metric['read']): Promise<readonly Sample[]> {
  try {
    return await withinMs(readMaxMs, read(), 'no values in time');
  } catch {
    return [];
  }
}
