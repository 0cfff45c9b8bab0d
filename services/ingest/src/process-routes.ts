import type { ServerResponse } from 'node:http';
import { errorBody } from '@meridian/contract/errors';
import { checkReadiness, type ReadinessCheck } from '@meridian/runtime/health';
import type { IngestHandler } from './create-ingest-handler.ts';

/** The paths of a collector that runs as its own process: collection, and what says whether it is alive and ready. */
export function createProcessRoutes(handle: IngestHandler, checks: Record<string, ReadinessCheck>): IngestHandler {
  return (request, response) => {
    if (handle(request, response)) return true;
    const path = request.url?.split('?')[0];
    if (path === '/livez' || path === '/api/heartbeat') answer(response, 200, { ok: true });
    else if (path === '/readyz') {
      void checkReadiness(checks).then((readiness) => answer(response, readiness.ok ? 200 : 503, readiness));
    } else answer(response, 404, errorBody('not-found', 'Not found'));
    return true;
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
