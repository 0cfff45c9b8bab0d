import { problemBody, wantsProblem } from '@meridian/contract/errors';
import { RegistryError } from '@meridian/registry/registry-error';
import { ApiError } from '@meridian/runtime/http/api-error';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import type { ErrorHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { QueryEnv } from '../query-env.ts';
import { isFaultOfOurs } from './request-log.ts';

const retryAfterSeconds = '5';

/**
 * The only place that writes an error body. What is not an ApiError says nothing of the inside; the request's log line
 * does.
 */
export function answerError(): ErrorHandler<QueryEnv> {
  return (thrown, c) => {
    const error = toApiError(thrown);
    if (isFaultOfOurs(c, error.status)) c.get('logFields').err = thrown;
    if (error.code === 'unauthorized') c.header('www-authenticate', 'Bearer');
    if (error.code === 'service-unavailable') c.header('retry-after', retryAfterSeconds);
    for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
    const status = error.status as ContentfulStatusCode;
    if (!wantsProblem(c.req.header('accept'))) return c.json(error.body, status);
    return c.body(JSON.stringify(problemBody(error.body)), status, { 'content-type': 'application/problem+json' });
  };
}

/** A store that is away, or a question it could not answer, is 503 (never zeros); what nobody foresaw is 500. */
function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof WarehouseError)
    return new ApiError('service-unavailable', 'Statistics are not available at the moment.', { cause: thrown });
  if (thrown instanceof RegistryError && thrown.kind === 'unavailable')
    return new ApiError('service-unavailable', 'The service is not available at the moment.', { cause: thrown });
  return new ApiError('server-error', 'Internal error', { cause: thrown });
}
