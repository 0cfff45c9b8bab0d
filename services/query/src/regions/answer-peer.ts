import type { IncomingMessage, ServerResponse } from 'node:http';
import { peerHeader } from '@meridian/peers/peer-claim';
import { takeFromWindow } from '../http/rate-limit.ts';
import type { QueryDeps } from '../query-env.ts';

/**
 * What regions ask each other, and nobody else may: `POST /peer/rate-limit/<key id>` counts a request of a key whose
 * home region this is, and answers its window. False: it is no such request, or not another region that asks.
 */
export function createPeerAnswers({ peers, redis }: Pick<QueryDeps, 'peers' | 'redis'>) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method = '', url = '', headers } = request;
    const keyId = /^\/peer\/rate-limit\/([0-9a-f-]{36})$/.exec(url)?.[1];
    if (keyId === undefined || method !== 'POST') return false;
    if (!peers.claimOf({ method, path: url, header: headers[peerHeader] })) return false;
    request.resume();
    takeFromWindow(redis, keyId).then(
      (window) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(window)),
      () => response.writeHead(503).end(),
    );
    return true;
  };
}
