import type { IncomingMessage } from 'node:http';
import type { PeerClaim } from '@meridian/peers/peer-claim';
import type { ClientAddress } from '@meridian/runtime/http/client-address';
import type { CacheTokens } from './cache-token.ts';
import { cdnPlace } from './client/cdn-place.ts';
import { toUserAgent } from './client/client-profile.ts';
import type { Sender } from './collect.ts';

/** Reads from a request's head, and from what another region says of it that has handed it on, who sends it. */
export function createSenders(deps: {
  addressOf: (request: IncomingMessage) => ClientAddress;
  tokens: CacheTokens;
  /** Unix ms. */
  now: () => number;
}): (request: IncomingMessage, claim: PeerClaim | undefined) => Sender {
  const { addressOf, tokens, now } = deps;
  return (request, claim) => {
    const { headers } = request;
    const { address, isProxyTrusted } = claim ? { address: claim.address, isProxyTrusted: true } : addressOf(request);
    const nowMs = claim ? claim.receivedAtMs : now();
    const token = headers['x-umami-cache'];
    return {
      userAgent: toUserAgent(headers['user-agent']),
      address,
      place: isProxyTrusted ? cdnPlace(headers) : null,
      token: typeof token === 'string' ? tokens.verify(token, nowMs) : null,
      isPeer: claim !== undefined,
      nowMs,
    };
  };
}
