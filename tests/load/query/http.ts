// Measures the query service as its clients see it:
// `npm run load:query-http -- [--only floor,collection] [--seconds 3] [--rounds 7] [--events 2000000] [--from-source]
// [--profile]`. Ratios of one run are worth something; absolute figures depend on the machine.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printCpuProfiles } from '../cpu-profile.ts';
import { hardwareLine, loadAverage } from '../hardware.ts';
import { startLoadStores } from '../load-stores.ts';
import { printTable, type Row } from '../report.ts';
import { createServices } from '../services.ts';
import { measureCollectionBesideQuestions } from './http-collection.ts';
import { measureHttpFloor } from './http-floor.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'floor,collection' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
    events: { type: 'string', default: '2000000' },
    'from-source': { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
});
const [seconds, rounds, events] = [Number(values.seconds), Number(values.rounds), Number(values.events)];
const loadBefore = loadAverage();
const folder = mkdtempSync(join(tmpdir(), 'meridian-load-http-'));
chmodSync(folder, 0o755); // PostgreSQL runs as a user of its own
const profiles = join(folder, 'profiles');
const stores = await startLoadStores(join(folder, 'stores'), true);
const services = createServices({
  env: { ...stores.env, APP_SECRET: 'a secret of the load test, long enough for it', TRUSTED_PROXIES: '127.0.0.1' },
  fromSource: values['from-source'],
  bundles: join(folder, 'bundles'),
  ...(values.profile && { profiles }),
});
try {
  const rows: Row[] = [];
  const only = values.only.split(',');
  if (only.includes('floor')) rows.push(...(await measureHttpFloor({ stores, services, seconds, rounds })));
  if (only.includes('collection'))
    rows.push(...(await measureCollectionBesideQuestions({ stores, services, seconds, rounds, events })));
  printTable(rows);
  const version = (await stores.clickhouse({ query: 'SELECT version() FORMAT TSVRaw' })).toString().trim();
  console.log(
    `\n${await hardwareLine(stores.redis)}, ClickHouse ${version}, load average before the start ${loadBefore}; median of ${rounds} ` +
      `interleaved rounds of ${seconds} s; client, stores and services share the cores; ${values['from-source'] ? 'sources by tsx' : 'bundles'}`,
  );
  await services.endAll();
  if (values.profile) printCpuProfiles(profiles);
} finally {
  await services.endAll();
  await stores.stop();
  rmSync(folder, { recursive: true, force: true });
}
