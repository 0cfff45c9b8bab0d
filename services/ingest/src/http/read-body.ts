import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { ErrorCode } from '@meridian/contract/errors';

export type BodyFault = { code: ErrorCode; message: string };

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

// In this thread: the thread pool may be busy with what takes long, such as passwords, and at most 5 MB come out here.
const decompressions = new Map<string, Decompress>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

const form = /^\s*(application\/x-www-form-urlencoded|multipart\/)/i;

/**
 * Reads a request's body, decompressed, of at most `maxBytes`: no more is read, and no more is decompressed, than
 * that. Any content type but a form is accepted. Never settles when the client goes away.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | BodyFault> {
  const { headers } = request;
  const type = headers['content-type'];
  if (type !== undefined && type !== 'application/json' && form.test(type)) return formBody;
  const encoding = headers['content-encoding'];
  const decompress = encoding === undefined || encoding === '' ? null : decompressions.get(encoding.toLowerCase());
  if (decompress === undefined && encoding?.toLowerCase() !== 'identity') return unknownEncoding;
  if (Number(headers['content-length'] ?? 0) > maxBytes) return tooLarge(maxBytes);

  const body = await collectBytes(request, maxBytes);
  if (body === null) return tooLarge(maxBytes);
  return decompress ? decompressBody(body, decompress, maxBytes) : body;
}

const formBody: BodyFault = { code: 'unsupported-media-type', message: 'The body must be JSON, not a form.' };
const unknownEncoding: BodyFault = {
  code: 'unsupported-media-type',
  message: 'The content encoding must be gzip, deflate or br.',
};

function tooLarge(maxBytes: number): BodyFault {
  return { code: 'payload-too-large', message: `The body must not be larger than ${maxBytes / 1_024} KB.` };
}

/** Null as soon as there are more than `maxBytes`. */
function collectBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else resolve(null);
    });
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? null) : Buffer.concat(chunks)));
  });
}

function decompressBody(body: Buffer, decompress: Decompress, maxBytes: number): Buffer | BodyFault {
  try {
    return decompress(body, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? tooLarge(maxBytes) : { code: 'bad-request', message: 'The compressed body cannot be read.' };
  }
}
