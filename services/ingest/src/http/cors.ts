import type { IncomingHttpHeaders } from 'node:http';

const tokenHeader = 'x-umami-cache';

/**
 * Headers, as name-value pairs in one list, that let a page of any origin read a collection answer (docs/semantics.md
 * "Pages of other origins"). Credentials are allowed because some senders ask for them; no cookie is ever used.
 */
export function corsHeaders(origin: string): string[] {
  return [
    'vary',
    'Origin',
    'access-control-allow-origin',
    origin,
    'access-control-allow-credentials',
    'true',
    'access-control-expose-headers',
    `${tokenHeader}, x-request-id, retry-after`,
  ];
}

/** The further headers of a preflight's answer: what is asked for is allowed. */
export function preflightHeaders(headers: IncomingHttpHeaders): string[] {
  return [
    'access-control-allow-methods',
    'POST, OPTIONS',
    'access-control-allow-headers',
    allowedHeaders(headers['access-control-request-headers']),
    'access-control-max-age',
    '86400',
  ];
}

/**
 * The token's header always is among them: a sender gets a token with its first answer, and need not ask again then.
 */
function allowedHeaders(requested: string | undefined): string {
  if (!requested) return `content-type, ${tokenHeader}`;
  return requested.toLowerCase().includes(tokenHeader) ? requested : `${requested}, ${tokenHeader}`;
}
