import { normalizeAddress } from '@meridian/runtime/http/address';

/**
 * The address that a sender gives for its visitor, null when it is none. Senders pass X-Forwarded-For on as they got
 * it: of such a list the first entry is the visitor's, those behind it are proxies.
 */
export function givenAddress(text: string): string | null {
  const comma = text.indexOf(',');
  return normalizeAddress(comma === -1 ? text : text.slice(0, comma));
}
