import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context } from 'hono';
import { badRequest } from '../http/bad-request.ts';
import { clientSignal } from '../http/node-answer.ts';
import { searchParams } from '../http/read-query.ts';
import { routeOf } from '../http/request-log.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { expressionsIn, type FoundExpression } from './parse-filters.ts';

const fault = 'is not a valid regular expression (RE2)';

/**
 * Answers a question that an expression made unanswerable.
 * @throws ApiError 400 that names the filter, or the segment or cohort that has it
 */
export async function refuseQuestion(deps: Pick<QueryDeps, 'warehouse'>, c: Context<QueryEnv>): Promise<never> {
  const params = searchParams(c);
  await refuseInvalidExpressions(deps, c, expressionsIn(params));
  const stored = ['segment', 'cohort'].filter((name) => params.has(name));
  const properties = Object.fromEntries(stored.map((name) => [name, { errors: [`a filter of it ${fault}`] }]));
  throw new ApiError('bad-request', `A filter ${fault}.`, { properties });
}

/**
 * Asks ClickHouse about one after the other, so that it belongs into a turn.
 * @throws ApiError 400 that names where the first stands that is not valid
 */
export async function refuseInvalidExpressions(
  { warehouse }: Pick<QueryDeps, 'warehouse'>,
  c: Context<QueryEnv>,
  expressions: readonly FoundExpression[],
): Promise<void> {
  const { method, route } = routeOf(c);
  const context = {
    websiteId: c.req.param('websiteId') ?? '',
    route: `${method} ${route}`,
    signal: clientSignal(c),
  };
  for (const { key, expression } of expressions)
    if (!(await warehouse.isValidExpression(expression, context))) throw badRequest(key, fault);
}
