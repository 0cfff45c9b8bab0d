import type { SegmentBody } from '@meridian/contract/segments';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context } from 'hono';
import type { z } from 'zod';
import { badRequest } from '../http/bad-request.ts';
import { clientSignal } from '../http/node-answer.ts';
import { searchParams } from '../http/read-query.ts';
import { routeOf } from '../http/request-log.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { expressionsIn, isExpression } from './parse-filters.ts';

const fault = 'is not a valid regular expression (RE2)';

/**
 * The answer to a question that an expression made unanswerable: 400 that names the filter, or the segment or cohort
 * that has it.
 */
export async function invalidExpression(deps: Pick<QueryDeps, 'warehouse'>, c: Context<QueryEnv>): Promise<ApiError> {
  const params = searchParams(c);
  const isValid = validityOf(deps, c);
  for (const { key, expression } of expressionsIn(params))
    if (!(await isValid(expression))) return badRequest(key, fault);
  const stored = ['segment', 'cohort'].filter((name) => params.has(name));
  const properties = Object.fromEntries(stored.map((name) => [name, { errors: [`a filter of it ${fault}`] }]));
  return new ApiError('bad-request', `A filter ${fault}.`, { properties });
}

/**
 * Refuses a segment or cohort with a filter that no question could be answered with.
 * @throws ApiError 400 that names the filter
 */
export async function refuseInvalidExpressions(
  deps: Pick<QueryDeps, 'warehouse'>,
  c: Context<QueryEnv>,
  { parameters }: z.output<typeof SegmentBody>,
): Promise<void> {
  const isValid = validityOf(deps, c);
  for (const [index, { operator, value }] of parameters.filters.entries())
    if (isExpression(operator) && value !== '' && !(await isValid(value)))
      throw badRequest(`parameters.filters.${index}.value`, fault);
}

function validityOf({ warehouse }: Pick<QueryDeps, 'warehouse'>, c: Context<QueryEnv>) {
  const { method, route } = routeOf(c);
  const context = {
    websiteId: c.req.param('websiteId') ?? '',
    route: `${method} ${route}`,
    signal: clientSignal(c),
  };
  return (expression: string) => warehouse.isValidExpression(expression, context);
}
