import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Notes which regions run on the data directory, where each answers and on which registry, for the operator's command;
 * null: none do. `peers`: as `PEERS` has them. Of `databaseUrl` only where the database is: an external one's password
 * is not ours to keep.
 */
export function noteRegions(dataDir: string, regions: { peers: string; databaseUrl: string } | null): void {
  const run = join(dataDir, 'run');
  const file = join(run, 'regions.json');
  if (regions === null) {
    rmSync(file, { force: true });
  } else {
    mkdirSync(run, { recursive: true });
    const { protocol, host, pathname } = new URL(regions.databaseUrl);
    writeFileSync(file, JSON.stringify({ peers: regions.peers, databaseUrl: `${protocol}//${host}${pathname}` }));
  }
}
