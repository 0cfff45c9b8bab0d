import type { RequestListener } from 'node:http';
import { createReadiness, type ReadinessCheck } from '@meridian/runtime/health';
import { answerNotFound, answerProcessRoute } from '@meridian/runtime/http/process-routes';

/** What says whether a worker that runs as its own process is alive, and whether it can reach what it works with. */
export function createProcessRoutes(checks: Record<string, ReadinessCheck>): RequestListener {
  const readiness = createReadiness({ own: checks });
  return (request, response) => {
    if (!answerProcessRoute(request, response, readiness)) answerNotFound(response);
  };
}
