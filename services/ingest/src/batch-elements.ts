/**
 * The events of a batch body (docs/semantics.md "Batches"): an array, an object with the keys 0 to n-1 (so
 * `@umami/api-client` sends an array), or `{ events: [...] }`. Null for any other body.
 */
export function toBatchElements(body: unknown): unknown[] | null {
  if (Array.isArray(body)) return body;
  if (typeof body !== 'object' || body === null) return null;
  if ('events' in body && Array.isArray(body.events)) return body.events;
  // Keys that are indexes come first and in order.
  return Object.keys(body).every((key, index) => key === String(index)) ? Object.values(body) : null;
}
