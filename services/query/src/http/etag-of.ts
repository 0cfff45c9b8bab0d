import { hash } from 'node:crypto';

/**
 * The entity tag of an answer's bytes, to be set by the route itself. Trap: hono's etag() makes one of a clone of the
 * answer where there is none, and in Node 20 a clone that is collected as garbage takes the answer's body along.
 */
export const etagOf = (content: string | Buffer): string => `"${hash('sha1', content, 'base64url')}"`;
