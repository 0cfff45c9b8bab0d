// Measures the product on this machine and says what it should reach: `npm run load:ingest -- [--only send,batch] [--seconds 5]
// [--rounds 3] [--from-source] [--profile]`. Ratios of one run are worth something; absolute figures depend on the machine and on
// what else it does.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printCpuProfiles } from './cpu-profile.ts';
import { measureEventsPerCpuSecond } from './events-per-cpu-second.ts';
import { hardwareLine } from './hardware.ts';
import type { LoadContext } from './load-context.ts';
import { startLoadStores } from './load-stores.ts';
import { parseOptions } from './options.ts';
import { printTable, type Row } from './report.ts';
import { createServices } from './services.ts';

const options = parseOptions(process.argv.slice(2));
const folder = mkdtempSync(join(tmpdir(), 'meridian-load-'));
chmodSync(folder, 0o755); // PostgreSQL runs as a user of its own
const profiles = join(folder, 'profiles');
const stores = await startLoadStores(join(folder, 'stores'));
const services = createServices({
  env: { ...stores.env, APP_SECRET: 'a secret of the load test, long enough for it', TRUSTED_PROXIES: '127.0.0.1' },
  fromSource: options.fromSource,
  folder: join(folder, 'bundles'),
});
try {
  await stores.setFsync('everysec');
  const ingest = await services.start('ingest', options.profile ? ['--cpu-prof', '--cpu-prof-dir', profiles] : []);
  const context: LoadContext = { options, stores, services, ingest };
  const rows: Row[] = [];
  if (options.only.has('send') || options.only.has('batch')) rows.push(...(await measureEventsPerCpuSecond(context)));

  printTable(rows);
  console.log(
    `\n${await hardwareLine(stores.redis)}, appendfsync everysec; median of ${options.rounds} interleaved rounds of ` +
      `${options.seconds} s; sender, stores and services share the cores; ${options.fromSource ? 'sources by tsx' : 'bundles'}`,
  );
  await services.stop();
  if (options.profile) printCpuProfiles(profiles);
} finally {
  await services.stop();
  await stores.stop();
  rmSync(folder, { recursive: true, force: true });
}
