import type { Timing } from '@meridian/warehouse/question';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/** Tells in `Server-Timing` what the store did: `db;dur=3.2;desc="rows 120, bytes 4096"` for each question asked. */
export function serverTiming(c: Context<QueryEnv>, ...timings: (Timing | undefined)[]): void {
  const entries = timings
    .filter((timing) => timing !== undefined)
    .map(
      ({ elapsedMs, rowsRead, bytesRead }) =>
        `db;dur=${elapsedMs.toFixed(1)};desc="rows ${rowsRead}, bytes ${bytesRead}"`,
    );
  c.header('server-timing', entries.join(', '));
}
