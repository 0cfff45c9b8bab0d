import type { IncomingMessage } from 'node:http';
import type { ClientAddress } from '@meridian/runtime/http/client-address';
import type { CacheTokens } from './cache-token.ts';
import { cdnPlace } from './client/cdn-place.ts';
import { toUserAgent } from './client/client-profile.ts';
import type { Sender } from './collect.ts';

/** Reads from a request's head who sends it. */
export function createSenders(deps: {
  addressOf: (request: IncomingMessage) => ClientAddress;
  tokens: CacheTokens;
  /** Unix ms. */
  now: () => number;
}): (request: IncomingMessage) => Sender {
  const { addressOf, tokens, now } = deps;
  return (request) => {
    const { headers } = request;
    const nowMs = now();
    const { address, isPeerTrusted } = addressOf(request);
    const token = headers['x-umami-cache'];
    return {
      userAgent: toUserAgent(headers['user-agent']),
      address,
      place: isPeerTrusted ? cdnPlace(headers) : null,
      token: typeof token === 'string' ? tokens.verify(token, nowMs) : null,
      nowMs,
    };
  };
}
