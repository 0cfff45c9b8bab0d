import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { Exchange } from './answer.ts';
import { createBodyReader } from './read-body.ts';

const max = 1_024;
const readBody = createBodyReader();
const exchanges: Parameters<typeof readBody>[0][] = [];
afterEach(() => {
  for (const exchange of exchanges.splice(0)) answered(exchange);
});

const answered = ({ packedBody }: Pick<Exchange, 'packedBody'>) => packedBody?.letGo();

/** A request of such a body, which is not answered before the test ends unless it says so. */
function newExchange(chunks: (string | Buffer)[], headers: Record<string, string> = {}) {
  const stream = Readable.from(
    chunks.map((chunk) => Buffer.from(chunk as string)),
    { objectMode: false },
  );
  const exchange = { request: Object.assign(stream, { headers }) as unknown as Exchange['request'] };
  exchanges.push(Object.assign(exchange, { claim: undefined, packedBody: undefined }));
  return exchange as (typeof exchanges)[number];
}

const read = (chunks: (string | Buffer)[], headers: Record<string, string> = {}, maxBytes = max) =>
  readBody(newExchange(chunks, headers), maxBytes);

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
    expect(await read([bomb], { 'content-encoding': encoding }, 1_000_000)).toMatchObject({
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

const batchMax = 5_242_880;
const gzip = { 'content-encoding': 'gzip' };
const packedMb = (mb: number) => gzipSync(Buffer.alloc(mb * 1_048_576, ' '));

test('of packed bodies that come together a turn has one large one, and the small are not behind the large', async () => {
  const large = packedMb(5);
  let inTurn: string[] = [];
  const turns: string[][] = [];
  const all = [...Array(12).fill(large), gzipSync('{}'), large, '{}'].map(async (body, i) => {
    const isPlain = body === '{}';
    const exchange = newExchange([body], isPlain ? {} : gzip);
    const length = ((await readBody(exchange, batchMax)) as Buffer).length;
    answered(exchange);
    inTurn.push(isPlain ? 'plain' : length > 2 ? 'large' : 'small');
    return i;
  });
  const isDone = Promise.all(all).then(() => true);
  while (!(await Promise.race([isDone, new Promise((next) => setImmediate(next))]))) {
    if (inTurn.length > 0) turns.push(inTurn);
    inTurn = [];
  }
  if (inTurn.length > 0) turns.push(inTurn);
  expect(turns.map((turn) => turn.filter((kind) => kind === 'large').length).every((count) => count <= 1)).toBe(true);
  const order = turns.flat();
  expect(order).toHaveLength(15);
  expect(order.slice(0, 5)).toEqual(expect.arrayContaining(['small', 'plain']));
});

test('after a turn with a large body new connections are accepted before the next, and what they send waits for it', async () => {
  const body = gzipSync('{}');
  const said: string[] = [];
  const server = createServer((socket) => {
    said.push('accepted');
    socket.destroy();
    void read([body], gzip).then(() => said.push('read'));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await read([packedMb(1)], gzip, batchMax);
  for (let i = 0; i < 20; i++) connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  // What is made of the body belongs to the turn.
  for (const untilMs = performance.now() + 100; performance.now() < untilMs; );
  await expect.poll(() => said.length).toBe(40);
  expect(said.indexOf('read')).toBeGreaterThan(10);
});

test('gzip is unpacked before brotli that came earlier, of which at most 500 wait', async () => {
  const brotli = [brotliCompressSync('{}'), { 'content-encoding': 'br' }] as const;
  const order: unknown[] = [];
  await Promise.all(
    [...Array(520).fill(brotli), [gzipSync('[]'), gzip] as const].map(async ([body, headers]) => {
      const outcome = await read([body], headers);
      order.push(Buffer.isBuffer(outcome) ? String(outcome) : outcome);
    }),
  );
  const refused = { code: 'service-unavailable', message: 'Too many bodies are on their way at the moment.' };
  expect(order).toEqual([...Array(20).fill(refused), '[]', ...Array(500).fill('{}')]);
});

test('what packed bodies unpack to counts until they are answered: beyond 64 MB they are 503, and plain ones are read', async () => {
  const large = packedMb(5);
  const unanswered = Array.from({ length: 14 }, () => newExchange([large], gzip));
  const bodies = await Promise.all(unanswered.map((exchange) => readBody(exchange, batchMax)));
  expect(bodies.map((body) => Buffer.isBuffer(body))).toEqual([...Array(12).fill(true), false, false]);
  expect(bodies.at(-1)).toMatchObject({ code: 'service-unavailable' });
  expect(await read([Buffer.alloc(batchMax)], {}, batchMax)).toHaveLength(batchMax);
  expect(await read([large], gzip, batchMax)).toMatchObject({ code: 'service-unavailable' });
  for (const exchange of unanswered.slice(0, 1)) answered(exchange);
  expect(await read([large], gzip, batchMax)).toHaveLength(batchMax);
});

test('more than 100 large ones do not wait', async () => {
  const large = packedMb(1);
  const bodies = await Promise.all(
    Array.from({ length: 110 }, async () => {
      const exchange = newExchange([large], gzip);
      const body = await readBody(exchange, batchMax);
      answered(exchange);
      return Buffer.isBuffer(body) ? 'read' : body.code;
    }),
  );
  const refused = bodies.filter((body) => body !== 'read');
  expect(new Set(refused)).toEqual(new Set(['service-unavailable']));
  expect(refused.length).toBeLessThanOrEqual(10);
});

test('of a body that was answered nothing stays with its connection, which keeps the latest request', async () => {
  setFlagsFromString('--expose_gc');
  const collectGarbage: () => void = runInNewContext('gc');
  for (const [parts, headers] of [
    [[Buffer.alloc(100_000), Buffer.alloc(100_000)], {}],
    [[packedMb(5)], gzip],
  ] as const) {
    const exchange = newExchange([...parts], headers);
    const kept = new WeakRef((await readBody(exchange, batchMax)) as Buffer);
    answered(exchange);
    await expect
      .poll(() => {
        collectGarbage();
        return kept.deref() === undefined;
      })
      .toBe(true);
    expect(exchange.request.readableEnded).toBe(true);
  }
});
