import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

const bodyMaxBytes = 1_000_000;
/** What is read and thrown away of a body that is too large, before its connection is closed. */
const discardMaxBytes = 16_777_216;

/**
 * The bytes of a body.
 * @throws ApiError 413 above 1 MB. Thrown when the rest has come: whoever still writes would lose the answer with the
 * connection, and who kept that for the next request would lose this one.
 */
export async function readBody(c: Context<QueryEnv>): Promise<Buffer> {
  const message = 'The body is larger than 1 MB.';
  if (Number(c.req.header('content-length') ?? 0) > bodyMaxBytes) throw new ApiError('payload-too-large', message);
  const reader = c.req.raw.body?.getReader();
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes <= bodyMaxBytes) chunks.push(part.value);
    else chunks = [];
    if (bytes > discardMaxBytes) throw new ApiError('payload-too-large', message, { headers: { connection: 'close' } });
  }
  if (bytes > bodyMaxBytes) throw new ApiError('payload-too-large', message);
  return Buffer.concat(chunks);
}
