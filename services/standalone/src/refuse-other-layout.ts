import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { storeNames } from '@meridian/embedded/store-host';
import { StartError } from '@meridian/runtime/process';

/** What each kind of start keeps in the data directory itself. Several regions have their stores in their own ones. */
const keptBy = { one: storeNames, several: ['registry'] } as const;

/**
 * A start of one region does not see the data of several, nor the other way round: it would begin an empty
 * installation beside them.
 * @throws StartError when the data directory holds only those of the other kind
 */
export function refuseOtherLayout(dataDir: string, wanted: 'one' | 'several'): void {
  const holds = (kind: keyof typeof keptBy) => keptBy[kind].some((name) => existsSync(join(dataDir, name)));
  const other = wanted === 'one' ? 'several' : 'one';
  if (holds(wanted) || !holds(other)) return;
  const [whose, how] =
    other === 'one' ? ['one region', 'without --regions'] : ['several regions', 'with --regions (or REGIONS)'];
  throw new StartError(
    `The data directory ${dataDir} (DATA_DIR) has the data of ${whose}: start ${how}, or choose another DATA_DIR.`,
  );
}
