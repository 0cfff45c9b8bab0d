import type { Timing } from '@meridian/warehouse/question';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';
import { setHeader } from './node-answer.ts';

/**
 * Tells in the log line, and in `Server-Timing` what the store did: `db;dur=3.2;desc="rows 120, bytes 4096"` for each
 * question asked.
 */
export function serverTiming(c: Context<QueryEnv>, ...timings: (Timing | undefined)[]): void {
  const asked = timings.filter((timing) => timing !== undefined);
  const total = (field: keyof Timing): number => asked.reduce((sum, timing) => sum + timing[field], 0);
  Object.assign(c.get('logFields'), { storeMs: Math.round(total('elapsedMs')), rowsRead: total('rowsRead') });
  const entries = asked.map(
    ({ elapsedMs, rowsRead, bytesRead }) =>
      `db;dur=${elapsedMs.toFixed(1)};desc="rows ${rowsRead}, bytes ${bytesRead}"`,
  );
  setHeader(c, 'server-timing', entries.join(', '));
}
