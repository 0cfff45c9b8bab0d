/** What is asked of one region. Shares are of 1. */
export type Load = {
  eventsPerSecond: number;
  /** Share of the events that come in batches of about a hundred, the rest one by one. */
  batchShare: number;
  /** How long ClickHouse may be away without an event being refused. */
  outageMinutes: number;
  /** How much of a core, of an insert rate or of a Redis's memory is planned with. */
  utilisation: number;
  /** Cores and memory of one Redis machine, of which a Redis uses one core. */
  redisMemoryGib: number;
  /** Cores of one ClickHouse machine. */
  clickhouseCores: number;
  /** Copies of each ClickHouse shard. */
  replicas: number;
  retentionDays: number;
  /** Bytes of a request of one event and of an event in a batch, with its share of HTTP and TLS. */
  sendBytes: number;
  batchEventBytes: number;
};

/** Measured on the machine of tests/load/README.md, on the day that is named in docs/capacity.md. */
export const measured = {
  /** Events per CPU-second of a collector. */
  sendPerCore: 12_900,
  batchPerCore: 88_000,
  /** Events per CPU-second of a worker without ClickHouse. */
  workerPerCore: 599_000,
  /**
   * Microseconds of Redis's one thread for an event: appended in calls of some ten or of hundreds, handed out and
   * deleted.
   */
  redisAppendSendUs: 16,
  redisAppendBatchUs: 11,
  redisConsumeUs: 0.4,
  /** Bytes of Redis's memory for an event in the log, the state of visits included. */
  redisSendBytes: 158,
  redisBatchBytes: 104,
  /** Rows per second that a ClickHouse of two cores, shared with the worker, takes with all rollups. */
  clickhouseRowsPerSecond: 59_500,
  clickhouseMeasuredCores: 2,
  /** Bytes on disk for an event with its rollups and its projection. */
  diskBytes: 83,
  /** Bytes of an event as a worker sends it (RowBinary, not compressed), and as it is in the log. */
  rowBytes: 250,
  entryBytes: 105,
} as const;

export const loadDefaults: Load = {
  eventsPerSecond: 1_000_000,
  batchShare: 0.5,
  outageMinutes: 30,
  utilisation: 0.6,
  redisMemoryGib: 32,
  clickhouseCores: 32,
  replicas: 2,
  retentionDays: 365,
  sendBytes: 1_200,
  batchEventBytes: 350,
};

export type Need = { what: string; value: number; unit: string; because: string };
export type Capacity = Record<
  | 'collectors'
  | 'workers'
  | 'redisForCpu'
  | 'redisMemory'
  | 'redisForMemory'
  | 'redis'
  | 'clickhouseShards'
  | 'clickhouseNodes'
  | 'catchUp'
  | 'diskPerDay'
  | 'diskInAll'
  | 'networkIn'
  | 'networkWithin',
  Need
>;

const usPerSecond = 1_000_000;
const gib = 2 ** 30;
/** The collector refuses above this share of Redis's `maxmemory` (log-level.ts). */
const redisMemoryShare = 0.75;

/** What the load needs, by dividing it by what was measured: nothing here has been run at that size. */
export function planCapacity(load: Load): Capacity {
  const { eventsPerSecond: events, batchShare, utilisation, outageMinutes, replicas } = load;
  const [batched, single] = [events * batchShare, events * (1 - batchShare)];
  const mean = (ofSingle: number, ofBatched: number) => (single * ofSingle + batched * ofBatched) / Math.max(events, 1);

  const collectorCores = single / measured.sendPerCore + batched / measured.batchPerCore;
  const collectors = Math.ceil(collectorCores / utilisation);
  const workers = Math.ceil(events / measured.workerPerCore / utilisation);

  const redisUs = mean(measured.redisAppendSendUs, measured.redisAppendBatchUs) + measured.redisConsumeUs;
  const redisForCpu = Math.ceil((events * redisUs) / usPerSecond / utilisation);
  const redisBytes = mean(measured.redisSendBytes, measured.redisBatchBytes);
  const logGib = (events * outageMinutes * 60 * redisBytes) / gib;
  const redisForMemory = Math.ceil(logGib / (load.redisMemoryGib * redisMemoryShare));

  const perShard =
    (measured.clickhouseRowsPerSecond / measured.clickhouseMeasuredCores) * load.clickhouseCores * utilisation;
  const shards = Math.ceil(events / perShard);
  const spare = (shards * perShard) / utilisation - events;
  const catchUpMinutes = events > 0 ? (outageMinutes * events) / spare : 0;

  const diskPerDayGb = (events * 86_400 * measured.diskBytes) / 1e9;
  const gigabits = (bytesPerSecond: number) => (bytesPerSecond * 8) / 1e9;
  const within = measured.entryBytes * 2 + measured.rowBytes * replicas;

  return {
    collectors: need(
      'ingest processes',
      collectors,
      '',
      `${collectorCores.toFixed(1)} cores of work, ${utilisation} of each`,
    ),
    workers: need('worker processes', workers, '', 'one core each; at least 2, so that one may die'),
    redisForCpu: need('Redis, for its CPU', redisForCpu, '', `${redisUs.toFixed(1)} µs of its one thread for an event`),
    redisMemory: need(
      'Redis memory for the outage',
      logGib,
      'GiB',
      `${outageMinutes} min of events at ${redisBytes.toFixed(0)} bytes`,
    ),
    redisForMemory: need(
      'Redis, for its memory',
      redisForMemory,
      '',
      `${load.redisMemoryGib} GiB each, of which three quarters are used`,
    ),
    redis: need(
      'Redis in all',
      Math.max(redisForCpu, redisForMemory),
      '',
      'beside a replica of each; a region as built has one',
    ),
    clickhouseShards: need(
      'ClickHouse shards',
      shards,
      '',
      `${Math.round(perShard).toLocaleString('en-US')} rows a second on ${load.clickhouseCores} cores`,
    ),
    clickhouseNodes: need('ClickHouse machines', shards * replicas, '', `${replicas} replicas of each shard`),
    catchUp: need('after the outage, until nothing waits', catchUpMinutes, 'min', 'with what ClickHouse has to spare'),
    diskPerDay: need('disk a day, one replica', diskPerDayGb / 1e3, 'TB', `${measured.diskBytes} bytes an event`),
    diskInAll: need(
      'disk in all',
      (diskPerDayGb * load.retentionDays * replicas) / 1e6,
      'PB',
      `${load.retentionDays} days, ${replicas} replicas`,
    ),
    networkIn: need(
      'network, from senders',
      gigabits(single * load.sendBytes + batched * load.batchEventBytes),
      'Gbit/s',
      'before TLS is ended',
    ),
    networkWithin: need(
      'network, between the parts',
      gigabits(events * within),
      'Gbit/s',
      'into Redis and out of it, into every replica',
    ),
  };
}

const need = (what: string, value: number, unit: string, because: string): Need => ({ what, value, unit, because });
