import { Hono } from 'hono';
import { answerError } from './http/answer-error.ts';
import { answerHeaders } from './http/answer-headers.ts';
import { requestId } from './http/request-id.ts';
import { requestLog } from './http/request-log.ts';
import { routedPath } from './http/routed-path.ts';
import { unknownRoute } from './http/unknown-route.ts';
import type { QueryDeps, QueryEnv } from './query-env.ts';
import { healthRoutes } from './routes/health.ts';
import { heartbeatRoutes } from './routes/heartbeat.ts';

/**
 * The whole query API. Routes are written without a prefix; they answer under /api, /v1 and /v1/<region>.
 * Order: request id, authentication, rate limit, then the route (permission, then validation).
 */
export function createQueryApp(deps: QueryDeps): Hono<QueryEnv> {
  const app = new Hono<QueryEnv>({ getPath: (request) => routedPath(request.url, deps.config) });
  app.use(requestLog(deps.logger), requestId(), answerHeaders(deps.config.region));
  app.onError(answerError(deps.logger));
  app.notFound(unknownRoute(app));
  app.route('/', healthRoutes(deps));
  app.route('/api', publicRoutes());
  app.route('/api', callerRoutes());
  return app;
}

/** Routes that need no credential. */
function publicRoutes(): Hono<QueryEnv> {
  return new Hono<QueryEnv>().route('/', heartbeatRoutes());
}

/** Routes behind authentication and the rate limit. */
function callerRoutes(): Hono<QueryEnv> {
  return new Hono<QueryEnv>();
}
