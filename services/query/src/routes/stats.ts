import { type StatsAnswer, StatsQuery } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';
import { Hono } from 'hono';
import { serverTiming } from '../http/server-timing.ts';
import type { QueryEnv } from '../query-env.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';
import { comparisonRange } from '../statistics/comparison-range.ts';
import { readQuestion } from '../statistics/read-question.ts';

/** GET /websites/{websiteId}/stats: the five numbers of a range and, if asked for, of the one it is compared with. */
export function statsRoutes(deps: AskingDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/websites/:websiteId/stats', async (c) => {
    const { query, zone, question } = await readQuestion(deps, c, StatsQuery);
    const ask = (range: DateRange) => deps.warehouse.getStats({ ...question, range, approximate: query.approximate });
    const [stats, comparison] = await askInTurn(deps, c, () =>
      Promise.all([ask(question.range), query.compare && ask(comparisonRange(question.range, query.compare, zone))]),
    );
    serverTiming(c, stats.timing, comparison?.timing);
    return c.json({ ...stats.value, ...(comparison && { comparison: comparison.value }) } satisfies StatsAnswer);
  });
}
