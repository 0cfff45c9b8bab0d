import { checkReadiness } from '@meridian/runtime/health';
import { Hono } from 'hono';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** GET /livez and /readyz, beside the API's prefixes. `notReady` names the parts that cannot do their work. */
export function healthRoutes({ registry, warehouse, redis }: QueryDeps): Hono<QueryEnv> {
  const checks = {
    postgres: () => registry.ping(),
    clickhouse: () => warehouse.ping(),
    redis: () => redis.ping(),
  };
  return new Hono<QueryEnv>()
    .get('/livez', (c) => c.json({ ok: true }))
    .get('/readyz', async (c) => {
      const readiness = await checkReadiness(checks);
      return c.json(readiness, readiness.ok ? 200 : 503);
    });
}
