import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createBodyReader } from './read-body.ts';

const max = 1_024;
const readBody = createBodyReader();

function read(chunks: (string | Buffer)[], headers: Record<string, string> = {}) {
  const stream = Readable.from(
    chunks.map((chunk) => Buffer.from(chunk as string)),
    { objectMode: false },
  );
  return readBody(Object.assign(stream, { headers }) as unknown as IncomingMessage, max);
}

test.each([
  [['{"a":1}'], '{"a":1}'],
  [['{"a"', ':1', '}'], '{"a":1}'],
  [[], ''],
  [['x'.repeat(max)], 'x'.repeat(max)],
])('%j is read whole', async (chunks, expected) => {
  expect(String(await read(chunks))).toBe(expected);
});

test.each([
  undefined,
  'application/json',
  'APPLICATION/JSON; charset=UTF-8',
  'text/plain',
  'application/vnd.api+json',
  'x',
])('the content type %s does not matter', async (type) => {
  expect(String(await read(['{}'], type === undefined ? {} : { 'content-type': type }))).toBe('{}');
});

test.each(['application/x-www-form-urlencoded', 'Multipart/Form-Data; boundary=x', ' multipart/mixed'])(
  'a form is refused: %s',
  async (type) => {
    expect(await read(['a=b'], { 'content-type': type })).toMatchObject({ code: 'unsupported-media-type' });
  },
);

test.each([
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['identity', (text: string) => Buffer.from(text)],
  ['', (text: string) => Buffer.from(text)],
] as const)('content encoding "%s" is understood', async (encoding, pack) => {
  expect(String(await read([pack('{"a":1}')], { 'content-encoding': encoding }))).toBe('{"a":1}');
});

test.each(['gzip, gzip', 'zstd', 'compress', '__proto__'])('content encoding "%s" is refused', async (encoding) => {
  expect(await read(['x'], { 'content-encoding': encoding })).toMatchObject({ code: 'unsupported-media-type' });
});

test('what cannot be decompressed is a bad request', async () => {
  const gzip = gzipSync('{"a":1}');
  for (const body of ['not gzip at all', gzip.subarray(0, -4), '', deflateRawSync('{}')])
    expect(await read([body], { 'content-encoding': 'gzip' })).toMatchObject({ code: 'bad-request' });
});

test('a body over the limit is refused: by its announced length, by what comes, by what it unpacks to', async () => {
  const tooLarge = { code: 'payload-too-large' };
  expect(await read([], { 'content-length': String(max + 1) })).toMatchObject(tooLarge);
  expect(await read(['x'.repeat(max), 'x'])).toMatchObject(tooLarge);
  for (const [encoding, pack] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const) {
    expect(await read([pack(Buffer.alloc(max))], { 'content-encoding': encoding })).toHaveLength(max);
    expect(await read([pack(Buffer.alloc(max + 1))], { 'content-encoding': encoding })).toMatchObject(tooLarge);
  }
});

test('a body that would unpack to 100 MB costs no memory', async () => {
  const zeros = Buffer.alloc(100_000_000);
  const bombs = [
    ['gzip', gzipSync(zeros, { level: 1 })],
    ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const;
  const before = process.memoryUsage().rss;
  for (const [encoding, bomb] of bombs) {
    const request = Object.assign(Readable.from([bomb]), { headers: { 'content-encoding': encoding } });
    expect(await readBody(request as unknown as IncomingMessage, 1_000_000)).toMatchObject({
      code: 'payload-too-large',
    });
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
});

test.each([16, 18, 22, 23, 24])('a brotli window of 2^%i bytes is taken up to 4 MB', async (bits) => {
  const packed = brotliCompressSync('{"a":1}', { params: { [constants.BROTLI_PARAM_LGWIN]: bits } });
  const body = await read([packed], { 'content-encoding': 'br' });
  if (bits <= 22) expect(String(body)).toBe('{"a":1}');
  else expect(body).toMatchObject({ code: 'bad-request', message: expect.stringContaining('window') });
});
