import { hash } from 'node:crypto';
import type { Append } from '@meridian/queue/placement';
import type { CollectRoute } from './http/collect-paths.ts';

const acceptable = /^[\x21-\x7e]{1,200}$/;

/** The client's `Idempotency-Key`: undefined when there is none, null when it is not 1 to 200 visible ASCII characters. */
export function readIdempotencyKey(header: string | string[] | undefined): string | null | undefined {
  if (header === undefined || header === '') return undefined;
  return typeof header === 'string' && acceptable.test(header) ? header : null;
}

/**
 * What the event log needs to store a repeated request once (docs/semantics.md "Idempotency"). Keys are kept apart by route and by the website
 * that the first element names, whether or not that element is accepted, so that a repetition finds its first.
 */
export function toIdempotency(request: {
  route: CollectRoute;
  key: string;
  firstElement: unknown;
  body: Buffer;
  /** What the answer is made of, beside the visit ids. */
  draft: unknown;
}): NonNullable<Append['idempotency']> {
  return {
    key: `${request.route}:${websiteOf(request.firstElement)}:${request.key}`,
    bodyHash: hash('sha256', request.body, 'base64'),
    draft: JSON.stringify(request.draft),
  };
}

function websiteOf(element: unknown): string {
  const payload = (element as { payload?: unknown } | null | undefined)?.payload;
  const website = (payload as { website?: unknown } | null | undefined)?.website;
  return typeof website === 'string' ? website.slice(0, 36).toLowerCase() : '';
}
