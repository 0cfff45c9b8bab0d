import { Hono } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/** GET /heartbeat: the API answers. Needs no credential. */
export function heartbeatRoutes(): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/heartbeat', (c) => c.json({ ok: true }));
}
