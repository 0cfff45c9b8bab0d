import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { chrome, startTestIngest } from './ingest-fixtures.ts';

// What clients may write on a connection, byte for byte, against the server as it listens.

const ingest = await startTestIngest();
afterAll(ingest.stop);
let website: string;
beforeEach(async () => {
  website = await ingest.newWebsite();
});

const body = (url = '/a') => JSON.stringify({ type: 'event', payload: { website, url } });
const head = (headers: string, line = 'POST /api/send HTTP/1.1') =>
  `${line}\r\nHost: x\r\nUser-Agent: ${chrome}\r\n${headers}\r\n`;
const close = 'Connection: close\r\n';
/** A request after which another one may come; with `close` the last one. */
const post = (text = body(), headers = '') => `${head(`Content-Length: ${text.length}\r\n${headers}`)}${text}`;
const exchange = (bytes: string | Buffer, options = {}) => rawExchange(ingest.port, bytes, options);
const storedUrls = async () => (await ingest.storedEvents(website)).map((event) => event.urlPath);

/** A text as a body in chunks of the given size, without the end. */
const chunks = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
    .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    .join('');

test('a body in chunks of any size is one body, trailers do not matter', async () => {
  for (const size of [1, 7, 1_000]) {
    const end = '0\r\nUser-Agent: Googlebot\r\nHost: evil.example\r\n\r\n';
    const chunked = head(`${close}Transfer-Encoding: chunked\r\n`) + chunks(body(`/${size}`), size) + end;
    expect(statusesOf(await exchange(chunked))).toEqual([200]);
  }
  expect(await storedUrls()).toEqual(['/1', '/7', '/1000']);
});

test('an event behind a request whose length is given in two ways is not taken', async () => {
  for (const lengths of [
    'Content-Length: 2\r\nContent-Length: 3\r\n',
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n',
    'Transfer-Encoding: xchunked\r\n',
    'Content-Length: -1\r\n',
  ]) {
    const said = await exchange(`${head(lengths)}0\r\n\r\n${post()}`);
    expect([statusesOf(said), /connection: close/i.test(said)]).toEqual([[400], true]);
  }
  expect(await storedUrls()).toEqual([]);
});

test('a body shorter than its Content-Length is no event, one that is longer is cut and not read as a second request', async () => {
  const short = `${head('Content-Length: 5000\r\n')}${body()}`;
  expect(statusesOf(await exchange(short, { end: true }))).toEqual([400]);
  const said = await exchange(`${head('Content-Length: 20\r\n')}${body()}\r\n\r\n`);
  expect(new Set(statusesOf(said))).toEqual(new Set([400]));
  expect(await storedUrls()).toEqual([]);
});

test('a chunked body that never ends is 413 as soon as it is too large, and cut off', async () => {
  const filler = ' '.repeat(0x10000);
  for (const endless of [`10000\r\n${filler}\r\n`.repeat(400), `FFFFFFFFFFFFFFFF\r\n${filler.repeat(400)}`]) {
    for (const path of ['/api/send', '/api/batch']) {
      const said = await exchange(head('Transfer-Encoding: chunked\r\n', `POST ${path} HTTP/1.1`) + endless);
      expect(statusesOf(said)).toEqual([413]);
    }
  }
});

test('a client that waits for 100 Continue is told to send an event, and refused at once when it is too large', async () => {
  const text = body();
  const expecting = (length: number) => head(`${close}Expect: 100-continue\r\nContent-Length: ${length}\r\n`);
  expect(statusesOf(await exchange(expecting(text.length), { until: / Continue\r\n\r\n/ }))).toEqual([100]);
  expect(statusesOf(await exchange(expecting(text.length) + text))).toEqual([100, 200]);
  expect(statusesOf(await exchange(expecting(10_000_000), { until: /\}\}$/ }))).toEqual([413]);
  const form = head('Expect: 100-continue\r\nContent-Type: multipart/form-data\r\nContent-Length: 100\r\n');
  expect(statusesOf(await exchange(form, { until: /\}\}$/ }))).toEqual([415]);
  expect(await storedUrls()).toEqual(['/a']);
});

test('100 events in one piece are answered and stored in their order', async () => {
  const urls = Array.from({ length: 100 }, (_, i) => `/${i}`);
  const said = await exchange(urls.map((url) => post(body(url))).join('') + post('{}', close));
  expect(statusesOf(said)).toEqual([...Array(100).fill(200), 400]);
  expect(await storedUrls()).toEqual(urls);
});

test('a refused request between two others costs neither of them, and each answer is that of its request', async () => {
  const said = await exchange(post(body('/1')) + post('{bad') + post('x'.repeat(70_000)) + post(body('/4'), close));
  expect(statusesOf(said)).toEqual([200, 400, 413, 200]);
  expect(await storedUrls()).toEqual(['/1', '/4']);
});

test('HTTP/1.0 and the absolute form of a proxy are served, older and newer versions and TLS are not', async () => {
  const old = `POST /api/send HTTP/1.0\r\nUser-Agent: ${chrome}\r\nContent-Length: ${body('/1.0').length}\r\n\r\n${body('/1.0')}`;
  expect(statusesOf(await exchange(old))).toEqual([200]);
  const absolute = head(
    `${close}Content-Length: ${body('/abs').length}\r\n`,
    'POST http://evil.example/api/send HTTP/1.1',
  );
  expect(statusesOf(await exchange(absolute + body('/abs')))).toEqual([200]);
  for (const bytes of [
    'POST /api/send\r\n\r\n',
    post().replace('HTTP/1.1', 'HTTP/2.0'),
    post().replace('HTTP/1.1', 'HTTP/1.2'),
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'nonsense\r\n\r\n',
  ])
    expect(statusesOf(await exchange(bytes))).toEqual([400]);
  expect(await storedUrls()).toEqual(['/1.0', '/abs']);
});

test('a method other than POST is 405 with Allow, and nothing is stored', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'TRACE', 'PROPFIND']) {
    for (const route of ['send', 'batch']) {
      const line = `${method} /api/${route} HTTP/1.1`;
      const said = await exchange(
        head(`${close}Cookie: secret\r\nContent-Length: ${body().length}\r\n`, line) + body(),
      );
      expect([statusesOf(said), /^allow: POST, OPTIONS\r$/im.test(said)]).toEqual([[405], true]);
      // Neither is a HEAD answered with a body, nor does a TRACE echo what it was sent.
      expect([said.includes('method-not-allowed'), said.includes('secret')]).toEqual([method !== 'HEAD', false]);
    }
  }
  expect(await exchange(head('', 'CONNECT /api/send HTTP/1.1'))).toBe('');
  expect(await storedUrls()).toEqual([]);
});

test.each([
  '/api//send',
  '//api/send',
  '/API/SEND',
  '/api/send%2F',
  '/api/%73end',
  '/api/./send',
  '/api/x/../send',
  '/api/send;x=1',
  '/api/send/x',
  '/api/sendx',
  '/api\\send',
  '/v1/us/us/send',
  '/v1/us/eu/send',
  '/v1/eu/send',
  '/v1/xx/send',
  '/v1/US/send',
  '/v2/send',
  '/send',
  '*',
])('the address %s is not that of collection', async (target) => {
  const said = await exchange(head(`${close}Content-Length: ${body().length}\r\n`, `POST ${target} HTTP/1.1`) + body());
  expect(statusesOf(said)).toEqual([404]);
  expect(said).toContain('"code":"not-found"');
  expect(await storedUrls()).toEqual([]);
});

test('a client that goes away in the middle takes nobody with it', async () => {
  const whole = post(body(), close);
  await Promise.all(
    Array.from({ length: whole.length - 1 }, (_, length) => exchange(whole.slice(0, length), { end: true })),
  );
  expect(await storedUrls()).toEqual([]);
  expect(statusesOf(await exchange(whole))).toEqual([200]);
  expect(await storedUrls()).toEqual(['/a']);
});
