import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { call, chrome, startTestIngest } from './ingest-fixtures.ts';

// Headers as nobody should send them: no event is lost by them, none is booked elsewhere.

const ingest = await startTestIngest();
afterAll(ingest.stop);
let website: string;
beforeEach(async () => {
  website = await ingest.newWebsite();
});

const event = (payload: object = {}) => ({ type: 'event', payload: { website, url: '/a', ...payload } });

/** Sends an event with exactly these header lines (latin1) and returns all that the server says. */
function exchange(lines: string, line = 'POST /api/send HTTP/1.1'): Promise<string> {
  const body = JSON.stringify(event());
  const head = `${line}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n${lines}`;
  return rawExchange(ingest.port, `${head}\r\n${body}`);
}
const host = 'Host: x\r\n';
const agent = `User-Agent: ${chrome}\r\n`;

const repeated = (text: string) => text.repeat(512);
const hostileAgents = [
  repeated('a '),
  repeated('Mozilla/5.0 '),
  repeated('('),
  repeated('; '),
  repeated('\t'),
  `Mozilla/5.0 (Linux; Android ${repeated('1.')}`,
  `Mozilla/5.0 (Linux; U; ${repeated('a')}`,
  `Dalvik/2.1 (Linux; ${repeated('SM-')} Build/${repeated('x')})`,
  `iphone ${repeated(' ')}x`,
  `Opera/9.80 (${repeated('J2ME/MIDP; ')})`,
  `Mozilla/5.0 ${repeated('HbbTV/1.1.1 (')}`,
  `${repeated('Version/')} Safari/`,
  "'; DROP TABLE events; --",
  `\${jndi:ldap://127.0.0.1/x}`,
  '__proto__',
  '\u0000',
  '\ud83d',
  'caf\u00e9',
];

test.each(hostileAgents)(
  "an event of the User-Agent %j is stored, also if a server says it is the visitor's",
  async (userAgent) => {
    expect((await ingest.send(event({ userAgent }))).status).toBe(200);
    const header = userAgent.toWellFormed().replace(/[^\t\x20-\x7e\xa0-\xff]/g, '?');
    expect(statusesOf(await exchange(`${host}User-Agent: x${header}\r\n`))).toEqual([200]);
    expect(await ingest.storedEvents(website)).toHaveLength(2);
  },
);

test('a User-Agent of bytes that are no text is stored; of two the first counts; one of 64 KB is 431', async () => {
  expect(statusesOf(await exchange(`${host}User-Agent: \xff\xfe\x80\r\n`))).toEqual([200]);
  expect(statusesOf(await exchange(`${host}${agent}User-Agent: Googlebot/2.1\r\n`))).toEqual([200]);
  expect(await ingest.storedEvents(website)).toHaveLength(2);
  expect(statusesOf(await exchange(`${host}User-Agent: ${'x'.repeat(65_536)}\r\n`))).toEqual([431]);
  expect(await ingest.storedEvents(website)).toHaveLength(2);
});

test.each([
  '',
  'undefined',
  'null',
  'a.b.c',
  'x'.repeat(10_000),
  '\xff\xfe',
  'eyJhbGciOiJub25lIn0.eyJ3ZWJzaXRlSWQiOiJ4Iiwic2Vzc2lvbklkIjoieSJ9.',
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhZG1pbiIsImV4cCI6OTk5OTk5OTk5OX0.c2lnbmF0dXJl',
])('the cache header "%s" is as good as none', async (token) => {
  const without = JSON.parse((await ingest.send(event())).text);
  const said = await exchange(`${host}${agent}x-umami-cache: ${token}\r\n`);
  expect(statusesOf(said)).toEqual([200]);
  expect(JSON.parse(said.slice(said.indexOf('{')))).toMatchObject({
    sessionId: without.sessionId,
    visitId: without.visitId,
  });
  expect((await ingest.storedEvents(website)).map((stored) => stored.urlPath)).toEqual(['/a', '/a']);
});

test('two cache headers are as good as none, one of 100 KB is 431', async () => {
  const { cache, visitId } = JSON.parse((await ingest.send(event({ id: 'u' }))).text);
  const lines = `${host}${agent}x-umami-cache: ${cache}\r\nx-umami-cache: ${cache}\r\n`;
  const said = await exchange(lines);
  expect([statusesOf(said), said.includes(visitId)]).toEqual([[200], false]);
  expect(statusesOf(await exchange(`${host}${agent}x-umami-cache: ${'x'.repeat(100_000)}\r\n`))).toEqual([431]);
});

test('the Host makes no difference and comes back nowhere; none or two of them are 400', async () => {
  for (const name of ['evil.example', 'evil.example:99999', '[::1', '"><script>', '']) {
    const said = await exchange(`Host: ${name}\r\n${agent}`);
    expect([statusesOf(said), said.includes('evil'), said.includes('script')]).toEqual([[200], false, false]);
  }
  for (const lines of [agent, `${host}Host: y\r\n${agent}`]) {
    const said = await exchange(lines);
    expect([statusesOf(said), said.includes('"code":"bad-request"')]).toEqual([[400], true]);
  }
  expect(await ingest.storedEvents(website)).toHaveLength(5);
});

test('a header that names another method or another address is not looked at', async () => {
  for (const name of [
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'X-Original-URL',
    'X-Rewrite-URL',
  ]) {
    expect(statusesOf(await exchange(`${host}${agent}${name}: DELETE\r\n`))).toEqual([200]);
    expect(statusesOf(await exchange(`${host}${agent}${name}: POST\r\n`, 'GET /api/send HTTP/1.1'))).toEqual([405]);
    expect(statusesOf(await exchange(`${host}${agent}${name}: /api/send\r\n`, 'POST /x HTTP/1.1'))).toEqual([404]);
  }
  expect(await ingest.storedEvents(website)).toHaveLength(5);
});

test.each(['https://shop.example', 'http://localhost:8080', 'null', 'file://', 'chrome-extension://abc', '*'])(
  'the origin %s is answered a preflight and an event',
  async (origin) => {
    for (const route of ['send', 'batch']) {
      const preflight = await call(ingest.port, 'OPTIONS', `/api/${route}`, undefined, {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, x-umami-cache',
      });
      expect([preflight.status, preflight.text]).toEqual([204, '']);
      expect(preflight.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'content-type, x-umami-cache',
        vary: 'Origin',
      });
    }
    const sent = await ingest.send(event(), { origin });
    expect([sent.status, sent.headers['access-control-allow-origin']]).toEqual([200, origin]);
  },
);

test('an origin comes back byte for byte, and no header can write a header of the answer', async () => {
  expect(await exchange(`${host}${agent}Origin: caf\xe9\r\n`)).toMatch(/^access-control-allow-origin: caf\xe9\r$/m);
  for (const name of ['Origin', 'X-Request-Id', 'Access-Control-Request-Headers']) {
    for (const value of ['a\rX-Evil: 1', 'a\nX-Evil: 1', 'a\0X-Evil: 1', 'a%0d%0aX-Evil: 1']) {
      for (const line of ['POST /api/send HTTP/1.1', 'OPTIONS /api/send HTTP/1.1']) {
        const said = await exchange(`${host}${agent}${name}: ${value}\r\n`, line);
        expect(said).not.toMatch(/^X-Evil/im);
        expect([200, 204, 400]).toContain(statusesOf(said)[0]);
      }
    }
  }
});
