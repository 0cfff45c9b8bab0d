import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Append } from '@meridian/queue/placement';
import type { CollectRoute } from './http/collect-paths.ts';

const acceptable = /^[\x21-\x7e]{1,200}$/;

/**
 * The client's `Idempotency-Key`: undefined when there is none, null when it is not 1 to 200 visible ASCII characters.
 */
export function readIdempotencyKey(header: string | string[] | undefined): string | null | undefined {
  if (header === undefined || header === '') return undefined;
  return typeof header === 'string' && acceptable.test(header) ? header : null;
}

/**
 * What a request is known by when it comes again, in every region the same: the client's key, the website that the
 * first element names, whether or not that element is accepted, and the hash of the body.
 */
export type Identity = { key: string; website: string; bodyHash: string };

/**
 * The header in which a region that hands on a request, or a part of it, tells the identity of the whole; the key has
 * its own.
 */
export const identityHeader = 'x-meridian-identity';

/**
 * Undefined for a request without key. `isPeer`: another region has handed it on. Only its collector's header is
 * believed, which hands on to `/api/…`: under `/v1/<region>/…` it may be a client's, passed on by an API of an earlier
 * version.
 */
export function identityOf(given: {
  key: string | undefined;
  request: Pick<IncomingMessage, 'url' | 'headers'>;
  isPeer: boolean;
  firstElement: unknown;
  body: Buffer;
}): Identity | undefined {
  const { key, request, isPeer, firstElement, body } = given;
  if (key === undefined) return undefined;
  const isCollectors = isPeer && request.url?.startsWith('/api/');
  const told = isCollectors ? readIdentity(request.headers[identityHeader]) : null;
  return { key, ...(told ?? { website: websiteOf(firstElement), bodyHash: hash('sha256', body, 'base64') }) };
}

/** The website in Base64, since it may be any text. */
export function writeIdentity({ website, bodyHash }: Identity): string {
  return `${Buffer.from(website).toString('base64url')},${bodyHash}`;
}

function readIdentity(header: string | string[] | undefined): Omit<Identity, 'key'> | null {
  const [website = '', bodyHash = ''] = String(header ?? '').split(',');
  return bodyHash === '' ? null : { website: Buffer.from(website, 'base64url').toString(), bodyHash };
}

/**
 * What the event log needs to store a repeated request once (docs/semantics.md "Idempotency"). Keys are kept apart by
 * route and website. `draft`: what the answer is made of, beside the visit ids.
 */
export function toIdempotency(
  route: CollectRoute,
  identity: Identity,
  draft: unknown,
): NonNullable<Append['idempotency']> {
  return { ...toRecord(route, identity), draft: JSON.stringify(draft) };
}

/** The same without the draft: what the log finds it by. */
export function toRecord(route: CollectRoute, { key, website, bodyHash }: Identity): { key: string; bodyHash: string } {
  return { key: `${route}:${website}:${key}`, bodyHash };
}

function websiteOf(element: unknown): string {
  const payload = (element as { payload?: unknown } | null | undefined)?.payload;
  const website = (payload as { website?: unknown } | null | undefined)?.website;
  // Well-formed, so that it is the same after its way in a header.
  return typeof website === 'string' ? website.slice(0, 36).toLowerCase().toWellFormed() : '';
}
