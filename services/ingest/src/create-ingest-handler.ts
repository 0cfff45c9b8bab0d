import type { IncomingMessage, ServerResponse } from 'node:http';
import { type PeerClaim, peerHeader } from '@meridian/peers/peer-claim';
import { createRequestIds } from '@meridian/runtime/http/request-id';
import type { Logger } from '@meridian/runtime/logger';
import type { CountedRoute } from './collect-counts.ts';
import { answerError, answerPreflight, type Exchange } from './http/answer.ts';
import { createCollectPaths } from './http/collect-paths.ts';
import { createRouteWatch } from './route-watch.ts';
import { createBatchRoute } from './routes/batch.ts';
import { createSendRoute, type RouteDeps } from './routes/send.ts';

/** Answers requests of collection. False: the request's path is not one of collection, and nothing was done. */
export type IngestHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** `regions`: names of all there are. `logSampleRate`: the share of requests that are logged, 0 to 1. */
export type IngestHandlerDeps = RouteDeps & {
  regions: readonly string[];
  /** See `Peers`. */
  claimOf: (request: IncomingMessage) => PeerClaim | null | undefined;
  logger: Logger;
  logSampleRate: number;
};

/**
 * `send` and `batch` under /api, /v1 and /v1/<region>, on node:http directly: every microsecond here is paid per event.
 */
export function createIngestHandler(deps: IngestHandlerDeps): IngestHandler {
  const { counts, logger, logSampleRate: sampleRate, claimOf } = deps;
  const routeOf = createCollectPaths(deps.regions);
  const requestId = createRequestIds();
  const watchOf = (route: CountedRoute) => createRouteWatch({ route, counts, logger, sampleRate });
  const watches = { send: watchOf('send'), batch: watchOf('batch'), preflight: watchOf('preflight') };
  const routes = { send: createSendRoute(deps), batch: createBatchRoute(deps) };
  /** Anybody can send that, so it is counted apart from what an operator is called for. */
  const refused = (): void => void counts.peerClaimsRefused++;

  return (request, response) => {
    const route = routeOf(request.url ?? '');
    if (route === null) return false;
    const claim = request.headers[peerHeader] === undefined ? undefined : claimOf(request);
    const watch = watches[request.method === 'OPTIONS' ? 'preflight' : route];
    const exchange: Exchange = {
      request,
      response,
      requestId: requestId(request.headers['x-request-id']),
      claim: claim ?? undefined,
      packedBody: undefined,
      startedAt: performance.now(),
      watch: claim === null ? { ...watch, refused } : watch,
    };
    if (request.method === 'OPTIONS') answerPreflight(exchange);
    else if (claim === null)
      answerError(exchange, 'service-unavailable', 'It cannot be told which region has handed this request on.');
    else if (request.method !== 'POST') answerError(exchange, 'method-not-allowed', 'Method not allowed');
    else
      routes[route](exchange).catch((error: unknown) => {
        logger.error({ err: error, route, requestId: exchange.requestId }, 'request failed');
        answerError(exchange, 'server-error', 'Internal error');
      });
    return true;
  };
}
