import { type EventsAnswer, EventsQuery } from '@meridian/contract/statistics';
import { formatEventCursor, parseEventCursor } from '@meridian/warehouse/event-cursor';
import { Hono } from 'hono';
import { badRequest } from '../http/bad-request.ts';
import { serverTiming } from '../http/server-timing.ts';
import type { QueryEnv } from '../query-env.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';
import { readQuestion } from '../statistics/read-question.ts';

/** GET /websites/{websiteId}/events: the event log, newest first, by page or by cursor. */
export function eventsRoutes(deps: AskingDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/websites/:websiteId/events', async (c) => {
    const { query, question } = await readQuestion(deps, c, EventsQuery);
    const { page, pageSize, maxResults, search } = query;
    const cursor = query.cursor === undefined ? undefined : parseEventCursor(query.cursor);
    if (cursor === null) throw badRequest('cursor', 'is not the nextCursor of an earlier answer');
    const from = cursor ? { cursor } : { offset: (page - 1) * pageSize };
    const { value, timing } = await askInTurn(deps, c, () =>
      deps.warehouse.listEvents(question, { ...from, limit: pageSize }, { search, maxResults }),
    );
    const { rows, count, isCapped, nextCursor } = value;
    serverTiming(c, timing);
    return c.json({
      count,
      data: rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })),
      page,
      pageSize,
      isCapped,
      nextCursor: nextCursor && formatEventCursor(nextCursor),
    } satisfies EventsAnswer);
  });
}
