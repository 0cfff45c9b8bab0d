import { randomUUID } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { hostileEvent, hostileJson, mutated } from './hostile-fixtures.ts';
import { chrome, post, type Reply, startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;

beforeAll(async () => {
  ingest = await startTestIngest();
  website = await ingest.newWebsite();
});
afterAll(() => ingest.stop());

/** Whatever came before: the collector takes and stores an event, and no prototype has changed. */
afterEach(async () => {
  const fresh = await ingest.newWebsite();
  expect((await ingest.send({ type: 'event', payload: { website: fresh, url: '/a' } })).status).toBe(200);
  expect((await ingest.storedEvents(fresh)).map((stored) => stored.urlPath)).toEqual(['/a']);
  expect('polluted' in {}).toBe(false);
});

/** No request may take longer, on whatever machine. */
const hang = { timeout: 30_000 };
const testTimeoutMs = 300_000;

function expectAnswer(reply: Reply): void {
  if (![200, 400, 413, 415, 422].includes(reply.status)) throw new Error(`${reply.status} ${reply.text}`);
}

// Made when a test runs, because the website is known only then.
const hostileElement = () => fc.oneof({ weight: 5, arbitrary: hostileEvent(website) }, hostileJson);
const headerText = fc
  .string({ unit: 'grapheme-ascii', maxLength: 100 })
  .map((text) => text.replace(/[^\x20-\x7e]/g, ''));
const headers = fc.record(
  {
    'x-umami-cache': headerText,
    'x-forwarded-for': headerText,
    'content-type': headerText,
    'x-request-id': headerText,
    accept: headerText,
    origin: headerText,
    'idempotency-key': headerText,
    'user-agent': fc.oneof({ weight: 9, arbitrary: fc.constant('curl/8.5.0') }, headerText),
  },
  { requiredKeys: [] },
);

test(
  'no event makes a server error or hangs, and what is accepted is stored',
  async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(hostileElement(), headers, async (element, extra) => {
        // A key that was used before answers as the first time, or 422.
        const key = extra['idempotency-key'] === undefined ? {} : { 'idempotency-key': randomUUID() };
        const reply = await ingest.send(element, { ...extra, ...key });
        expectAnswer(reply);
        if (reply.text.includes('sessionId')) accepted++;
      }),
      { numRuns: 400, ...hang },
    );
    expect(accepted).toBeGreaterThan(100);
    expect(await ingest.storedEvents(website)).toHaveLength(accepted);
  },
  testTimeoutMs,
);

test(
  'in a batch each event stands for itself: counts add up, and good neighbours are always stored',
  async () => {
    const neighbours = await ingest.newWebsite();
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(hostileElement(), { maxLength: 20 }), async (elements) => {
        const good = () => JSON.stringify({ type: 'event', payload: { website: neighbours, url: `/${sent++}` } });
        const body = [good(), ...elements, good()];
        const reply = await ingest.batch(`[${body.join()}]`);
        if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
        const { size, processed, errors, ignored, details, cache } = JSON.parse(reply.text);
        expect([size, processed + errors + ignored, details.length]).toEqual([body.length, body.length, errors]);
        const indexes = details.map((detail: { index: number }) => detail.index);
        expect([indexes.includes(0), indexes.includes(body.length - 1)]).toEqual([false, false]);
        expect(typeof cache).toBe('string');
      }),
      { numRuns: 150, ...hang },
    );
    const stored = (await ingest.storedEvents(neighbours)).map((event) => event.urlPath);
    expect(stored).toEqual(Array.from({ length: sent }, (_, i) => `/${i}`));
  },
  testTimeoutMs,
);

const encodings = {
  '': (body: Buffer) => body,
  gzip: (body: Buffer) => gzipSync(body),
  deflate: (body: Buffer) => deflateSync(body),
  br: (body: Buffer) => brotliCompressSync(body),
} as const;

test(
  'no body makes a server error: bytes of any kind, valid ones that were damaged, packed before or after',
  async () => {
    const valid = fc
      .array(hostileElement(), { minLength: 1, maxLength: 3 })
      .map((list) => Buffer.from(`[${list.join()}]`));
    const noise = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
    const body = fc.oneof(noise, mutated(valid), fc.constant(Buffer.from('['.repeat(60_000))));
    const packed = fc.constantFrom(...(Object.keys(encodings) as (keyof typeof encodings)[])).chain((encoding) => {
      const whole = body.map(encodings[encoding]);
      return fc.record({ encoding: fc.constant(encoding), bytes: fc.oneof(whole, mutated(whole), body) });
    });
    await fc.assert(
      fc.asyncProperty(packed, fc.constantFrom('send', 'batch'), async ({ encoding, bytes }, route) => {
        expectAnswer(await post(ingest.port, `/api/${route}`, bytes, { 'content-encoding': encoding }));
      }),
      { numRuns: 400, ...hang },
    );
  },
  testTimeoutMs,
);

test(
  'no header makes a server error or keeps an event from its answer',
  async () => {
    const name = fc.constantFrom(
      ...['Accept', 'Cookie', 'Origin', 'User-Agent', 'X-Request-Id', 'x-umami-cache', 'Idempotency-Key', 'Forwarded'],
      ...[
        'Content-Type',
        'Content-Encoding',
        'X-Forwarded-For',
        'Access-Control-Request-Headers',
        'If-None-Match',
        'X',
      ],
    );
    const bytes = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 100 });
    const value = bytes.map((text) => text.replace(/[\r\n]/g, ' '));
    const line = fc.tuple(name, value).map(([header, text]) => `${header}: ${text}\r\n`);
    const event = JSON.stringify({ type: 'event', payload: { website, url: '/a' } });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 5 }), async (lines) => {
        const head = `POST /api/send HTTP/1.1\r\nHost: x\r\nUser-Agent: ${chrome}\r\nConnection: close\r\n${lines.join('')}`;
        const said = await rawExchange(ingest.port, `${head}Content-Length: ${event.length}\r\n\r\n${event}`);
        expect([[200], [400], [415]]).toContainEqual(statusesOf(said));
      }),
      { numRuns: 300, ...hang },
    );
  },
  testTimeoutMs,
);

test(
  'no bytes on a connection make a server error',
  async () => {
    const event = JSON.stringify({ type: 'event', payload: { website, url: '/a' } });
    const whole = `POST /api/send HTTP/1.1\r\nHost: x\r\nUser-Agent: ${chrome}\r\nContent-Length: ${event.length}\r\n\r\n${event}`;
    const chunked = `POST /api/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n`;
    const valid = fc
      .array(fc.constantFrom(whole, chunked), { minLength: 1, maxLength: 3 })
      .map((list) => Buffer.from(list.join('')));
    const noise = fc.uint8Array({ maxLength: 500 }).map((array) => Buffer.from(array));
    await fc.assert(
      fc.asyncProperty(fc.oneof({ weight: 5, arbitrary: mutated(valid) }, noise), async (bytes) => {
        const said = await rawExchange(ingest.port, bytes, { end: true });
        for (const status of statusesOf(said)) expect(status).toBeLessThan(500);
      }),
      { numRuns: 300, ...hang },
    );
  },
  testTimeoutMs,
);
