import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Notes which regions run on the data directory and where each answers, for the operator's command; null: none do. `peers`: as `PEERS` has them. */
export function noteRegions(dataDir: string, peers: string | null): void {
  const run = join(dataDir, 'run');
  const file = join(run, 'regions.json');
  if (peers === null) {
    rmSync(file, { force: true });
  } else {
    mkdirSync(run, { recursive: true });
    writeFileSync(file, JSON.stringify({ peers }));
  }
}
