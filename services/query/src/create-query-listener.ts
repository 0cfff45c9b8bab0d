import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createReadiness, type ReadinessCheck } from '@meridian/runtime/health';
import { answerProcessRoute } from '@meridian/runtime/http/process-routes';
import { createQueryApp } from './create-query-app.ts';
import { createInvalidAddressAnswer } from './http/answer-invalid-address.ts';
import type { QueryDeps } from './query-env.ts';
import { createPeerAnswers } from './regions/answer-peer.ts';

/** Whether the stores can be used that all processes of the API share. */
export function storeChecks({ registry, warehouse, redis }: Pick<QueryDeps, 'registry' | 'warehouse' | 'redis'>) {
  return { postgres: registry.ping, clickhouse: warehouse.ping, redis: () => redis.ping() };
}

/** The query API for a node:http server, and what says whether it is alive and ready; `own` checks of that. */
export function createQueryListener(deps: QueryDeps, own: Record<string, ReadinessCheck> = {}): RequestListener {
  const app = createQueryApp(deps);
  const answer = getRequestListener(app.fetch, {
    // HTTP/1.0 may come without Host.
    hostname: 'localhost',
    // Node reads on behind an answer, for as long as a request may take; this would close the connection after 500 ms.
    autoCleanupIncoming: false,
    // What the app answers never comes here: only an address or a Host header that no URL can be made of. It is
    // answered below, where its headers are known.
    errorHandler: () => {},
  });
  const answerInvalidAddress = createInvalidAddressAnswer(deps.config.region);
  const answerPeer = createPeerAnswers(deps);
  const readiness = createReadiness({ own, stores: storeChecks(deps) });
  return (request, response) => {
    if (answerProcessRoute(request, response, readiness) || answerPeer(request, response)) return;
    void answer(request, response).then(() => {
      if (!response.headersSent) answerInvalidAddress(request, response);
    });
  };
}
