import type { RangeQuery, SelectionQuery } from '@meridian/contract/statistics';
import type { Question } from '@meridian/warehouse/question';
import type { Context } from 'hono';
import type { z } from 'zod';
import { getReadableWebsite } from '../auth/website-access.ts';
import { badRequest } from '../http/bad-request.ts';
import { clientSignal } from '../http/node-answer.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import { routeOf } from '../http/request-log.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { parseFilters } from './parse-filters.ts';
import { resolveDateRange } from './resolve-date-range.ts';
import { readStoredSelection } from './stored-selection.ts';
import { findTimeZone, type TimeZone } from './time-zone.ts';

/** The query of every statistics route: a range and a selection of events, and what the route has beside them. */
type QuestionSchema = z.ZodObject & z.ZodType<RangeQuery & SelectionQuery>;

/**
 * What every statistics route begins with: the website, if the caller may read it, then the query, and the question of
 * both.
 * @throws ApiError 404 before anything of the query is looked at, 400 for what is wrong with it
 */
export async function readQuestion<Schema extends QuestionSchema>(
  deps: QueryDeps,
  c: Context<QueryEnv>,
  schema: Schema,
): Promise<{ query: z.output<Schema>; zone: TimeZone; question: Question }> {
  const { id: websiteId, pendingResetAt } = await getReadableWebsite(
    deps,
    c.get('reader'),
    c.req.param('websiteId') ?? '',
  );
  c.get('logFields').websiteId = websiteId;
  const params = searchParams(c);
  const query = readQuery(params, schema);
  const zone = findTimeZone(query.timezone);
  if (zone === null) throw badRequest('timezone', 'is not an IANA time zone');
  const range = resolveDateRange(query, zone, deps.now());
  const { match, eventType, excludeBounce } = query;
  const filters = parseFilters(params);
  const stored = await readStoredSelection(deps, websiteId, query, zone);
  const collectedSince = pendingResetAt ?? undefined;
  const { method, route } = routeOf(c);
  const selection = { range, collectedSince, filters, match, ...stored, eventType, excludeBounce };
  return { query, zone, question: { websiteId, ...selection, route: `${method} ${route}`, signal: clientSignal(c) } };
}
