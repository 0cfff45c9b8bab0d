// Measures the product on this machine and says what it should reach:
// `npm run load:ingest -- [--only send,batch] [--seconds 3] [--rounds 7] [--memory-minutes 1] [--from-source]
// [--profile]`. Ratios of one run are worth something; absolute figures depend on the machine and on what else it does.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printCpuProfiles } from './cpu-profile.ts';
import { measureEventsPerCpuSecond } from './events-per-cpu-second.ts';
import { hardwareLine, loadAverage } from './hardware.ts';
import type { LoadContext } from './load-context.ts';
import { startLoadStores } from './load-stores.ts';
import { type Measurement, parseOptions } from './options.ts';
import { measureRedisBytes } from './redis-bytes.ts';
import { printTable, type Row } from './report.ts';
import { measureResidentMemory } from './resident-memory.ts';
import { measureSendLatency } from './send-latency.ts';
import { createServices } from './services.ts';
import { measureTimeToQueryable } from './time-to-queryable.ts';
import { measureTwoProcesses } from './two-processes.ts';
import { warmUp } from './warm-up.ts';
import { measureWorkerRate } from './worker-rate.ts';

const measurements: { names: Measurement[]; measure(context: LoadContext): Promise<Row[]> }[] = [
  { names: ['send', 'batch'], measure: measureEventsPerCpuSecond },
  { names: ['latency'], measure: measureSendLatency },
  { names: ['redis'], measure: measureRedisBytes },
  { names: ['scale'], measure: measureTwoProcesses },
  { names: ['memory'], measure: measureResidentMemory },
  { names: ['worker'], measure: measureWorkerRate },
  { names: ['queryable'], measure: measureTimeToQueryable },
];

const options = parseOptions(process.argv.slice(2));
const loadBefore = loadAverage();
const folder = mkdtempSync(join(tmpdir(), 'meridian-load-'));
chmodSync(folder, 0o755); // PostgreSQL runs as a user of its own
const profiles = join(folder, 'profiles');
const needsClickHouse = (['memory', 'worker', 'queryable'] as const).some((name) => options.only.has(name));
const stores = await startLoadStores(join(folder, 'stores'), needsClickHouse);
const services = createServices({
  env: { ...stores.env, APP_SECRET: 'a secret of the load test, long enough for it', TRUSTED_PROXIES: '127.0.0.1' },
  fromSource: options.fromSource,
  bundles: join(folder, 'bundles'),
  ...(options.profile && { profiles }),
});
try {
  await stores.setFsync('everysec');
  const [ingest, bare] = [await services.start('ingest'), await services.startBare()];
  await warmUp(stores.websites, bare, ingest);
  await stores.emptyLog();
  const context: LoadContext = { options, stores, services, ingest, bare };
  const rows: Row[] = [];
  for (const { names, measure } of measurements) {
    if (!names.some((name) => options.only.has(name))) continue;
    console.error(`measuring ${names.join(', ')} …`);
    try {
      rows.push(...(await measure(context)));
    } catch (error) {
      console.error(error); // the others are worth having all the same
      process.exitCode = 1;
    }
  }

  printTable(rows);
  console.log(
    `\n${await hardwareLine(stores.redis)}, load average before the start ` +
      `${loadBefore}; median of ${options.rounds} interleaved rounds of ${options.seconds} s; ` +
      `sender, stores and services share the cores; ${options.fromSource ? 'sources by tsx' : 'bundles'}`,
  );
  await services.endAll();
  if (options.profile) printCpuProfiles(profiles);
} finally {
  await services.endAll();
  await stores.stop();
  rmSync(folder, { recursive: true, force: true });
}
