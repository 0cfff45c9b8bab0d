import { askOnce } from './ask-once.ts';

/** Marks what was deleted or reset as not yet removed, which the workers look for; $1: a region, null for all. */
export const repeatRemovalsSql = `
  WITH changed AS (
    UPDATE website
    SET purged_at = NULL, pending_reset_at = CASE WHEN deleted_at IS NULL THEN reset_at END
    WHERE ($1::text IS NULL OR region = $1) AND (purged_at IS NOT NULL OR (deleted_at IS NULL AND reset_at IS NOT NULL))
    RETURNING deleted_at
  )
  SELECT count(deleted_at) AS purges, count(*) - count(deleted_at) AS resets FROM changed`;

/**
 * Orders all removals of a region again: its ClickHouse was restored and may hold what had been removed. Gives how many
 * there are.
 * @throws RegistryError
 */
export async function repeatRemovals(databaseUrl: string, region: string): Promise<{ purges: number; resets: number }> {
  const [counts] = await askOnce(databaseUrl, repeatRemovalsSql, [region]);
  return { purges: Number(counts?.purges), resets: Number(counts?.resets) };
}
