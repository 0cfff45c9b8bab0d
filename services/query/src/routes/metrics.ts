import { type ExpandedMetric, type Metric, MetricsQuery } from '@meridian/contract/statistics';
import { Hono } from 'hono';
import { serverTiming } from '../http/server-timing.ts';
import type { QueryEnv } from '../query-env.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';
import { readQuestion } from '../statistics/read-question.ts';

/** GET /websites/{websiteId}/metrics and /metrics/expanded: the values of one dimension, most first. */
export function metricsRoutes(deps: AskingDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>()
    .get('/websites/:websiteId/metrics', async (c) => {
      const { query, question } = await readQuestion(deps, c, MetricsQuery);
      const { value, timing } = await askInTurn(deps, c, () => deps.warehouse.getMetrics(question, query));
      serverTiming(c, timing);
      return c.json(value satisfies Metric[]);
    })
    .get('/websites/:websiteId/metrics/expanded', async (c) => {
      const { query, question } = await readQuestion(deps, c, MetricsQuery);
      const { value, timing } = await askInTurn(deps, c, () => deps.warehouse.getExpandedMetrics(question, query));
      serverTiming(c, timing);
      return c.json(value satisfies ExpandedMetric[]);
    });
}
