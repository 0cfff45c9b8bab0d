import type { RequestListener, ServerResponse } from 'node:http';
import { errorBody } from '@meridian/contract/errors';
import { checkReadiness, type ReadinessCheck } from '@meridian/runtime/health';

/** What says whether a worker that runs as its own process is alive, and whether it can reach what it works with. */
export function createProcessRoutes(checks: Record<string, ReadinessCheck>): RequestListener {
  return (request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/livez') answer(response, 200, { ok: true });
    else if (path === '/readyz') {
      void checkReadiness(checks).then((readiness) => answer(response, readiness.ok ? 200 : 503, readiness));
    } else answer(response, 404, errorBody('not-found', 'Not found'));
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
