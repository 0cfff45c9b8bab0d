import type { ActiveAnswer } from '@meridian/contract/statistics';
import { Hono } from 'hono';
import { getReadableWebsite } from '../auth/website-access.ts';
import { clientSignal } from '../http/node-answer.ts';
import { routeOf } from '../http/request-log.ts';
import { serverTiming } from '../http/server-timing.ts';
import type { QueryEnv } from '../query-env.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';

const activeMs = 5 * 60_000;

/** GET /websites/{websiteId}/active: visitors of the last five minutes. It knows no parameters. */
export function activeRoutes(deps: AskingDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/websites/:websiteId/active', async (c) => {
    const { id: websiteId, pendingResetAt } = await getReadableWebsite(deps, c.get('reader'), c.req.param('websiteId'));
    c.get('logFields').websiteId = websiteId;
    const collectedSince = pendingResetAt ?? undefined;
    const { method, route } = routeOf(c);
    const context = { websiteId, collectedSince, route: `${method} ${route}`, signal: clientSignal(c) };
    const endAt = deps.now();
    const range = { startAt: new Date(endAt.getTime() - activeMs), endAt };
    const { value: visitors, timing } = await askInTurn(deps, c, () =>
      deps.warehouse.getActiveVisitors(context, range),
    );
    serverTiming(c, timing);
    return c.json({ visitors } satisfies ActiveAnswer);
  });
}
