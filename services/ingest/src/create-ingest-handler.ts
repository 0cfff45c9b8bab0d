import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequestIds } from '@meridian/runtime/http/request-id';
import type { Logger } from '@meridian/runtime/logger';
import { answerError, answerPreflight, type Exchange } from './http/answer.ts';
import { createCollectPaths } from './http/collect-paths.ts';
import { createBatchRoute } from './routes/batch.ts';
import { createSendRoute, type RouteDeps } from './routes/send.ts';

/** Answers requests of collection. False: the request's path is not one of collection, and nothing was done. */
export type IngestHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** `send` and `batch` under /api, /v1 and /v1/<region>, on node:http directly: every microsecond here is paid per event. */
export function createIngestHandler(deps: RouteDeps & { region: string; logger: Logger }): IngestHandler {
  const { logger } = deps;
  const routeOf = createCollectPaths(deps.region);
  const requestId = createRequestIds();
  const routes = { send: createSendRoute(deps), batch: createBatchRoute(deps) };

  return (request, response) => {
    const route = routeOf(request.url ?? '');
    if (route === null) return false;
    const exchange: Exchange = { request, response, requestId: requestId(request.headers['x-request-id']) };
    if (request.method === 'OPTIONS') answerPreflight(exchange);
    else if (request.method !== 'POST') answerError(exchange, 'method-not-allowed', 'Method not allowed');
    else
      routes[route](exchange).catch((error: unknown) => {
        logger.error({ err: error, route, requestId: exchange.requestId }, 'request failed');
        answerError(exchange, 'server-error', 'Internal error');
      });
    return true;
  };
}
