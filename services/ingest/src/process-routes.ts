import type { RequestListener } from 'node:http';
import { createReadiness, type ReadinessChecks } from '@meridian/runtime/health';
import { answerNotFound, answerPlainly, answerProcessRoute } from '@meridian/runtime/http/process-routes';
import { createRequestIds } from '@meridian/runtime/http/request-id';
import type { IngestHandler } from './create-ingest-handler.ts';

/** The paths of a collector that runs as its own process: collection, and what says whether it is alive and ready. */
export function createProcessRoutes(handle: IngestHandler, checks: ReadinessChecks): RequestListener {
  const readiness = createReadiness(checks);
  const requestId = createRequestIds();
  return (request, response) => {
    // Events first: every microsecond is paid per event.
    if (handle(request, response) || answerProcessRoute(request, response, readiness)) return;
    response.setHeader('x-request-id', requestId(request.headers['x-request-id']));
    if (request.url?.split('?')[0] === '/api/heartbeat') answerPlainly(response, 200, { ok: true });
    else answerNotFound(response);
  };
}
