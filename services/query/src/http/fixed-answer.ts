import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';
import { parseAccept } from 'hono/utils/accept';
import type { QueryEnv } from '../query-env.ts';
import { etagOf } from './etag-of.ts';

const compress = promisify(gzip);

/**
 * Answers with content that stays the same while the process runs: `make` is called, and the content compressed, once.
 * The tag is the same for both forms, and so a weak one.
 */
export function createFixedAnswer(make: () => Promise<string | Buffer>, type: string) {
  let ready: Promise<{ plain: Buffer<ArrayBuffer>; packed: Buffer<ArrayBuffer>; etag: string }> | undefined;

  async function prepare() {
    const plain = Buffer.from((await make()) as string);
    return { plain, packed: await compress(plain), etag: `W/${etagOf(plain)}` };
  }

  return async (c: Context<QueryEnv>): Promise<Response> => {
    ready ??= prepare().catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
    const { plain, packed, etag } = await ready;
    const headers = { 'content-type': type, etag, vary: 'accept-encoding' };
    return takesGzip(c.req.header('accept-encoding'))
      ? c.body(packed, 200, { ...headers, 'content-encoding': 'gzip' })
      : c.body(plain, 200, headers);
  };
}

function takesGzip(acceptEncoding = ''): boolean {
  const accepted = parseAccept(acceptEncoding);
  const found = accepted.find(({ type }) => type.toLowerCase() === 'gzip') ?? accepted.find(({ type }) => type === '*');
  return (found?.q ?? 0) > 0;
}
