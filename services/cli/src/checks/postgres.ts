import { type PostgresState, readPostgresState } from '@meridian/registry/server-state';
import { type Finding, fail, messageOf, ok, warn } from './finding.ts';

/** Whether Postgres can be used and has this version's schema. */
export async function checkPostgres(databaseUrl: string): Promise<Finding> {
  try {
    return judgePostgres(await readPostgresState(databaseUrl));
  } catch (error) {
    return fail(messageOf(error), 'See whether Postgres runs and DATABASE_URL is right.');
  }
}

export function judgePostgres({ version, missingMigrations, isNewer }: PostgresState): Finding {
  if (missingMigrations.length > 0)
    return fail(`${version}, lacks the migrations ${missingMigrations.join(', ')}`, 'Run: npm run migrate');
  if (isNewer)
    return warn(`${version}, has migrations of a later version`, 'Use the version of the services that made them.');
  return ok(`${version}, all migrations applied`);
}
