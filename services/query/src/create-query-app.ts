import { Hono } from 'hono';
import { authenticate } from './auth/authenticate.ts';
import { answerError } from './http/answer-error.ts';
import { answerHeaders } from './http/answer-headers.ts';
import { rateLimit } from './http/rate-limit.ts';
import { requestId } from './http/request-id.ts';
import { requestLog } from './http/request-log.ts';
import { requestTrace } from './http/request-trace.ts';
import { routedPath } from './http/routed-path.ts';
import { unknownRoute } from './http/unknown-route.ts';
import type { QueryDeps, QueryEnv } from './query-env.ts';
import { serveHomeRegion, servePinnedRegion } from './regions/serving-region.ts';
import { activeRoutes } from './routes/active.ts';
import { adminRoutes } from './routes/admin.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { auditRoutes } from './routes/audit.ts';
import { docsRoutes } from './routes/docs.ts';
import { eventsRoutes } from './routes/events.ts';
import { heartbeatRoutes } from './routes/heartbeat.ts';
import { loginRoutes } from './routes/login.ts';
import { meRoutes } from './routes/me.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { openApiRoutes } from './routes/openapi.ts';
import { pageviewsRoutes } from './routes/pageviews.ts';
import { segmentRoutes } from './routes/segments.ts';
import { sessionRoutes } from './routes/session.ts';
import { publicShareRoutes, shareRoutes } from './routes/shares.ts';
import { statsRoutes } from './routes/stats.ts';
import { teamMemberRoutes } from './routes/team-members.ts';
import { teamRoutes } from './routes/teams.ts';
import { userRoutes } from './routes/users.ts';
import { websiteRoutes } from './routes/website.ts';
import { websiteTransferRoutes } from './routes/website-transfer.ts';
import { websitesRoutes } from './routes/websites.ts';
import { createQuestionTurns } from './statistics/question-turns.ts';

/**
 * The whole query API. Routes are written without a prefix; they answer under /api, /v1 and /v1/<region>.
 * Order: log, request id, headers, pinned region, authentication, home region, rate limit, then the route (permission,
 * then validation, then its turn).
 */
export function createQueryApp(deps: QueryDeps): Hono<QueryEnv> {
  const app = new Hono<QueryEnv>({ getPath: (request) => routedPath(request.url, deps.config) });
  const { region, logSampleRate } = deps.config;
  app.use(requestTrace(), requestLog({ ...deps, logSampleRate }), requestId(), answerHeaders(region));
  app.use(servePinnedRegion(deps));
  app.onError(answerError());
  app.notFound(unknownRoute(app));
  const documents = new Hono<QueryEnv>().route('/', openApiRoutes(deps)).route('/', docsRoutes());
  // Without a prefix too, where a newcomer looks.
  app.route('/', documents).route('/api', documents);
  app.route('/api', publicRoutes(deps));
  app.route('/api', callerRoutes(deps));
  return app;
}

/** Routes that need no credential. */
function publicRoutes(deps: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>()
    .route('/', heartbeatRoutes())
    .route('/', loginRoutes(deps))
    .route('/', publicShareRoutes(deps));
}

/** Routes behind authentication and the rate limit. */
function callerRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const newTurns = () => createQuestionTurns(deps.config.questionLimits, deps.counts);
  const asking = { ...deps, turns: newTurns() };
  // Lists that may be long are read from Postgres: they do not wait for ClickHouse.
  const listing = { ...deps, turns: newTurns() };
  return new Hono<QueryEnv>()
    .use(authenticate(deps), serveHomeRegion(deps), rateLimit(deps))
    .route('/', sessionRoutes(deps))
    .route('/', meRoutes(deps))
    .route('/', apiKeyRoutes(deps))
    .route('/', userRoutes(deps))
    .route('/', adminRoutes(deps))
    .route('/', auditRoutes(deps))
    .route('/', websitesRoutes(deps))
    .route('/', websiteRoutes(deps))
    .route('/', websiteTransferRoutes(deps))
    .route('/', teamMemberRoutes(deps))
    .route('/', teamRoutes(deps))
    .route('/', segmentRoutes(asking, listing))
    .route('/', shareRoutes(listing))
    .route('/', statsRoutes(asking))
    .route('/', pageviewsRoutes(asking))
    .route('/', eventsRoutes(asking))
    .route('/', activeRoutes(asking))
    .route('/', metricsRoutes(asking));
}
