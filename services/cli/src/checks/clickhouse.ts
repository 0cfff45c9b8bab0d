import type { RollupComparison } from '@meridian/warehouse/rollups/differences';
import type { ClickHouseState } from '@meridian/warehouse/server-state';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { lateMs, tellLag } from './event-log.ts';
import { type Finding, fail, messageOf, ok, warn } from './finding.ts';

const websitesInSample = 3;

/** Whether ClickHouse can be used, has this version's schema and keeps what it acknowledges. */
export async function checkClickHouse(warehouse: Pick<Warehouse, 'readState'>): Promise<Finding> {
  try {
    return judgeClickHouse(await warehouse.readState());
  } catch (error) {
    return fail(messageOf(error), 'See whether ClickHouse runs and CLICKHOUSE_URL is right. Events wait in the log.');
  }
}

export function judgeClickHouse(state: ClickHouseState): Finding {
  const { version, missingMigrations, missingViews, isNewer, syncsInserts } = state;
  if (missingMigrations.length > 0)
    return fail(`${version}, lacks the migrations ${missingMigrations.join(', ')}`, 'Run: npm run migrate');
  if (missingViews.length > 0) {
    return fail(
      `${version}, lacks the views ${missingViews.join(', ')}: what big websites are told leaves out what came in since`,
      'Make each as the last of packages/warehouse/clickhouse-migrations that names it does, then run: npx meridian check-rollups --repair',
    );
  }
  if (isNewer)
    return warn(`${version}, has migrations of a later version`, 'Use the version of the services that made them.');
  if (!syncsInserts) {
    return warn(
      `${version}, fsync_after_insert is off: a power loss takes the last inserts`,
      'Use the settings of infra/clickhouse/server.xml.',
    );
  }
  return ok(`${version}, all migrations applied`);
}

/**
 * Whether what fast answers are made of agrees with the events, for some websites. `readLogLagMs`: how long the oldest
 * event waits.
 */
export async function checkRollups(
  warehouse: Pick<Warehouse, 'compareRollups' | 'drawActiveWebsites'>,
  readLogLagMs: () => Promise<number>,
  now: Date,
): Promise<Finding> {
  try {
    const logLagMs = await readLogLagMs();
    const websiteIds = await warehouse.drawActiveWebsites(now, websitesInSample);
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - 1));
    return judgeRollups(
      websiteIds.length === 0
        ? { drifts: [], undecided: 0 }
        : await warehouse.compareRollups(now, { websiteIds, from }),
      logLagMs,
    );
  } catch (error) {
    return warn(
      `could not be compared: ${messageOf(error)}`,
      'See the checks of the stores; look again when they have less to do.',
    );
  }
}

export function judgeRollups({ drifts, undecided }: RollupComparison, logLagMs: number): Finding {
  const detail = drifts
    .map(({ websiteId, table, rows }) => `${rows} rows of ${table} of website ${websiteId}`)
    .join(', ');
  if (drifts.length > 0 && logLagMs > lateMs)
    return warn(
      detail,
      `Look again when the event log is OK: ${tellLag(logLagMs)}, and what a worker is to send again may be half stored.`,
    );
  if (drifts.length > 0)
    return fail(
      detail,
      'Look again in a minute: while a reset or a migration runs they may differ. If they still do, meridian check-rollups --repair puts them right. Report it.',
    );
  if (undecided > 0)
    return warn(
      `${undecided} rows changed faster than they could be compared: they may be right`,
      'Look again when less flows in.',
    );
  return ok(`agree with their events (up to ${websitesInSample} websites, two days or what retention leaves of them)`);
}
