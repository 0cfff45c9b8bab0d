import { ApiError } from '@meridian/runtime/http/api-error';
import { type BodyRefusal, GrowingBody } from '@meridian/runtime/http/growing-body';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

const bodyMaxBytes = 1_000_000;
/** What is read and thrown away of a body that is refused, before its connection is closed. */
const discardMaxBytes = 16_777_216;

const messages: Record<BodyRefusal, string> = {
  'payload-too-large': 'The body is larger than 1 MB.',
  'service-unavailable': 'Too many bodies are on their way at the moment.',
};

/**
 * What `use` makes of a body, whose memory counts for so long.
 * @throws ApiError 413 above 1 MB, 503 where the bodies of others need the memory. Thrown when the rest has come:
 * whoever still writes would lose the answer with the connection, and who kept that for the next request would lose
 * this one.
 */
export async function withBody<Used>(c: Context<QueryEnv>, use: (body: Buffer) => Used | Promise<Used>): Promise<Used> {
  if (Number(c.req.header('content-length') ?? 0) > bodyMaxBytes) throw refused('payload-too-large');
  const reader = c.req.raw.body?.getReader();
  const body = new GrowingBody(bodyMaxBytes);
  let bytes = 0;
  try {
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      const { buffer, byteOffset, byteLength } = part.value;
      body.add(Buffer.from(buffer, byteOffset, byteLength));
      bytes += byteLength;
      if (body.refusal && bytes > discardMaxBytes) throw refused(body.refusal, { connection: 'close' });
    }
    const whole = body.whole();
    if (whole) return await use(whole);
    throw refused(body.refusal ?? 'service-unavailable');
  } finally {
    body.letGo();
  }
}

function refused(code: BodyRefusal, headers: Record<string, string> = {}): ApiError {
  return new ApiError(code, messages[code], { headers });
}
