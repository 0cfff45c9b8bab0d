import type { IncomingMessage } from 'node:http';
import { type PeerClaim, peerHeader } from '@meridian/peers/peer-claim';
import type { ClientAddress } from '@meridian/runtime/http/client-address';
import type { CacheTokens } from './cache-token.ts';
import { cdnPlace } from './client/cdn-place.ts';
import { toUserAgent } from './client/client-profile.ts';
import type { Sender } from './collect.ts';

/** Reads from a request's head who sends it. */
export function createSenders(deps: {
  addressOf: (request: IncomingMessage) => ClientAddress;
  /** What another region says of a request that it hands on. */
  claimOf: (request: IncomingMessage) => PeerClaim | null | undefined;
  tokens: CacheTokens;
  /** Unix ms. */
  now: () => number;
}): (request: IncomingMessage) => Sender {
  const { addressOf, claimOf, tokens, now } = deps;
  return (request) => {
    const { headers } = request;
    const claim = headers[peerHeader] === undefined ? undefined : claimOf(request);
    const { address, isPeerTrusted } = claim ? { address: claim.address, isPeerTrusted: true } : addressOf(request);
    const nowMs = claim ? now() - claim.ageMs : now();
    const token = headers['x-umami-cache'];
    return {
      userAgent: toUserAgent(headers['user-agent']),
      address,
      place: isPeerTrusted ? cdnPlace(headers) : null,
      token: typeof token === 'string' ? tokens.verify(token, nowMs) : null,
      isPeer: claim !== undefined,
      nowMs,
    };
  };
}
