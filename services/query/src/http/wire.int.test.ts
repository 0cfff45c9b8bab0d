import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { type HttpServer, listen } from '@meridian/runtime/http/server';
import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createQueryListener } from '../create-query-listener.ts';
import { createTestApi } from '../query-fixtures.ts';
import { insides } from './test-insides.ts';

// What clients may write on a connection, byte for byte, against the query API as it listens.

let api: Awaited<ReturnType<typeof createTestApi>>;
let server: HttpServer;
let token: string;
/** Of the account; one for each test, as none may ask more than fifty times. */
let key: string;
let website: string;
const errors: unknown[] = [];
const servers: HttpServer[] = [];

async function start(timeouts?: Parameters<typeof listen>[1]['timeouts']): Promise<HttpServer> {
  const logger = Object.assign(Object.create(api.deps.logger), {
    isLevelEnabled: (level: string) => level === 'error',
    error: (fields: unknown) => void errors.push(fields),
  });
  const listener = createQueryListener({ ...api.deps, logger });
  const started = await listen(listener, { port: 0, host: '127.0.0.1', ...(timeouts && { timeouts }) });
  servers.push(started);
  return started;
}

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  ({ token } = await api.newAccount());
  server = await start();
});
beforeEach(async () => {
  errors.length = 0;
  ({ key } = await api.ok('POST', '/me/api-keys', { token, body: { name: 'wire' } }));
  ({ id: website } = await api.ok('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example' } }));
});
afterAll(async () => {
  await Promise.all(servers.map((one) => one.close(0)));
  await api.close();
});

const close = 'Connection: close\r\n';
const head = (line: string, headers = '') =>
  `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n`;
const post = (path: string, headers: string, body = '') => `${head(`POST ${path}`, headers)}${body}`;
const exchange = (bytes: string | Buffer, options = {}) => rawExchange(server.port, bytes, options);
const bodiesOf = (said: string) => [...said.matchAll(/^(\{.*\}|\[.*\]|null)(?=\r?$|HTTP)/gm)].map(([, text]) => text);
const isThere = async () => (await api.ok('GET', `/websites/${website}`, { token })) !== null;

describe('a request whose length is given in two ways', () => {
  const update = JSON.stringify({ name: 'Changed' });
  test.each([
    ['two lengths', `Content-Length: ${update.length}\r\nContent-Length: 0\r\n`],
    ['a list of lengths', `Content-Length: 0, ${update.length}\r\n`],
    ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n'],
    ['an encoding that is none', 'Transfer-Encoding: xchunked\r\n'],
    ['an encoding behind a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n'],
    ['an encoding before the last one', 'Transfer-Encoding: chunked, identity\r\n'],
    ['a blank before the colon', `Content-Length : ${update.length}\r\n`],
    ['a folded line', `Content-Length:\r\n ${update.length}\r\n`],
    ['a sign', `Content-Length: +${update.length}\r\n`],
  ])('(%s) is refused and the connection closed: a deletion behind it is not done', async (_, lengths) => {
    const smuggled = head(`DELETE /api/websites/${website}`, close);
    for (const between of ['', '0\r\n\r\n', `${update.length.toString(16)}\r\n${update}\r\n0\r\n\r\n`, update]) {
      const said = await exchange(post(`/api/websites/${website}`, lengths, between + smuggled));
      expect([statusesOf(said), /connection: close/i.test(said)]).toEqual([[400], true]);
    }
    expect(await isThere()).toBe(true);
  });

  test.each([
    ['beyond 2^64', 'FFFFFFFFFFFFFFFFF\r\n'],
    ['negative', '-5\r\n'],
    ['with 0x', '0x5\r\n'],
    ['with a blank', '5 \r\n'],
    ['with a bare LF', '5\n'],
    ['with an extension of 1 MB', `5;${'x'.repeat(1_000_000)}\r\n`],
    ['shorter than its chunk', '1\r\n'],
  ])('a chunk whose size is %s: the same', async (_, size) => {
    const smuggled = head(`DELETE /api/websites/${website}`, close);
    const said = await exchange(
      post(`/api/websites/${website}`, 'Transfer-Encoding: chunked\r\n', `${size}{"a":\r\n0\r\n\r\n${smuggled}`),
    );
    expect([400, 413]).toContain(statusesOf(said)[0]);
    expect([statusesOf(said).length, await isThere()]).toEqual([1, true]);
  });

  test('a body that is longer than its length is no second request; one that breaks off changes nothing', async () => {
    const body = JSON.stringify({ name: 'Changed' });
    const short = post(`/api/websites/${website}`, 'Content-Length: 5000\r\n', body);
    expect(statusesOf(await exchange(short, { end: true }))).toEqual([400]);
    const long = post(`/api/websites/${website}`, 'Content-Length: 2\r\n', `{}${body}\r\n\r\n`);
    expect(statusesOf(await exchange(long)).at(-1)).toBe(400);
    expect(await api.ok('GET', `/websites/${website}`, { token })).toMatchObject({ name: 'Shop' });
    expect(errors).toEqual([]);
  });
});

test('clients that never finish a head or a body are cut off while others are answered, and no fault of ours is told', async () => {
  const impatient = await start({ headersTimeout: 300, requestTimeout: 600, connectionsCheckingInterval: 50 });
  key = token; // which has no limit of requests
  const beginnings = [
    'GET /api/websites HTTP/1.1\r\nHost: x\r\nX-Slow: ',
    post(`/api/websites/${website}`, 'Content-Length: 100\r\n', '{"name":'),
    post('/api/websites', 'Transfer-Encoding: chunked\r\n', '8\r\n{"name":\r\n'),
    'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"username":',
  ];
  const slow = Array.from({ length: 100 }, (_, i) => rawExchange(impatient.port, beginnings[i % 4] ?? ''));
  for (let i = 0; i < 10; i++)
    expect(statusesOf(await rawExchange(impatient.port, head('GET /api/websites', close)))).toEqual([200]);
  for (const said of await Promise.all(slow)) expect(statusesOf(said)).toEqual([408]);
  expect(statusesOf(await rawExchange(impatient.port, head('GET /api/websites', close)))).toEqual([200]);
  expect([await isThere(), errors]).toEqual([true, []]);
});

test('a client that sends a byte at a time is cut off as well, however long it goes on', async () => {
  const impatient = await start({ headersTimeout: 300, requestTimeout: 600, connectionsCheckingInterval: 50 });
  const said = await new Promise<string>((resolve) => {
    let text = '';
    const socket = connect(impatient.port, '127.0.0.1');
    socket.write(post(`/api/websites/${website}`, 'Content-Length: 1000000\r\n'));
    const dripping = setInterval(() => socket.write(' '), 20);
    socket.on('data', (chunk) => (text += chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(dripping);
      resolve(text);
    });
  });
  expect([statusesOf(said), errors]).toEqual([[408], []]);
});

test('a head that is too large or of too many lines is 431; the credential in it is not looked at', async () => {
  for (const lines of [
    `X-Large: ${'x'.repeat(20_000)}\r\n`,
    `Authorization: Bearer ${'x'.repeat(1_000_000)}\r\n`,
    `x-umami-api-key: ${key}${' '.repeat(20_000)}\r\n`,
    `Cookie: ${'a=b; '.repeat(5_000)}\r\n`,
  ])
    expect(statusesOf(await exchange(`GET /api/websites HTTP/1.1\r\nHost: x\r\n${lines}\r\n`))).toEqual([431]);
  expect(statusesOf(await exchange(head(`GET /api/websites?search=${'x'.repeat(20_000)}`)))).toEqual([431]);
  expect(statusesOf(await exchange(head('GET /api/websites', 'X: y\r\n'.repeat(500))))).toEqual([431]);
  expect(statusesOf(await exchange(head('GET /api/websites', `${close}${'X: y\r\n'.repeat(190)}`)))).toEqual([200]);
});

test('requests in one piece are answered in their order, each by its own credential, and each counts', async () => {
  const { key: otherKey } = await api.ok('POST', '/me/api-keys', {
    token: (await api.newAccount()).token,
    body: { name: 'other' },
  });
  const own = head(`GET /api/websites/${website}`);
  const foreign = own.replace(key, String(otherKey));
  const anonymous = own.replace(/Authorization.*\r\n/, '');
  const refused = head('GET /api/websites?page=x');
  const last = head('GET /api/me', close);
  const said = await exchange((own + foreign + anonymous + refused).repeat(10) + last);
  expect(statusesOf(said)).toEqual([...Array(10).fill([200, 200, 401, 400]).flat(), 200]);
  const remaining = [...said.matchAll(/ratelimit-remaining: (\d+)/gi)].map(([, count]) => Number(count));
  expect(Math.min(...remaining)).toBe(50 - 21);
  const told = bodiesOf(said).map((text) => (text === 'null' ? 'null' : Object.keys(JSON.parse(text ?? ''))[0]));
  expect(told).toEqual([...Array(10).fill(['id', 'null', 'error', 'error']).flat(), 'authType']);
});

describe('a credential', () => {
  const ask = (lines: string, target = '/api/websites') =>
    exchange(`GET ${target} HTTP/1.1\r\nHost: x\r\n${close}${lines}\r\n`);

  test('in any letter case of its scheme, with blanks around it, is one', async () => {
    for (const lines of [
      `Authorization: Bearer ${key}\r\n`,
      `authorization: bearer ${key}\r\n`,
      `AUTHORIZATION:BEARER   ${key}  \r\n`,
      `X-Umami-Api-Key: ${key}\t\r\n`,
    ])
      expect([lines, statusesOf(await ask(lines))]).toEqual([lines, [200]]);
  });

  test('that is anything else is none: 401 with the scheme that is wanted', async () => {
    const session = token.split('.');
    for (const lines of [
      '',
      'Authorization: Bearer\r\n',
      'Authorization: Bearer \r\n',
      'Authorization: \r\n',
      `Authorization: ${key}\r\n`,
      `Authorization: Basic ${Buffer.from(`x:${key}`).toString('base64')}\r\n`,
      `Authorization: Digest ${key}\r\n`,
      `Authorization: Bearer ${key} ${key}\r\n`,
      `Authorization: Bearer ${key},\r\n`,
      `Authorization: Bearer "${key}"\r\n`,
      `Authorization: Bearer ${key}\xa0\r\n`,
      `Authorization: Bearer ${key}%20\r\n`,
      `Authorization: Bearer \xff${key}\r\n`,
      `Authorization: Bearer ${key.slice(0, -1)}\r\n`,
      `Authorization: Bearer ${key}x\r\n`,
      `Authorization: Bearer ${key.toUpperCase()}\r\n`,
      `Authorization: Bearer mrd_${'x'.repeat(32)}\r\n`,
      `Authorization: Bearer ${session[0]}..${session[2]}\r\n`,
      `Authorization: Bearer ${session[0]}.${session[1]}.\r\n`,
      `Authorization: Bearer ${'x.'.repeat(2_000)}x\r\n`,
      `Proxy-Authorization: Bearer ${key}\r\n`,
      `Cookie: token=${token}; authorization=Bearer%20${key}\r\n`,
      `X-Api-Key: ${key}\r\n`,
    ]) {
      const said = await ask(lines);
      expect([lines, statusesOf(said), /^www-authenticate: Bearer\r$/im.test(said)]).toEqual([lines, [401], true]);
      expect(said).not.toMatch(insides);
    }
  });

  test('that comes twice is not taken, unless both are the same', async () => {
    const { key: other } = await api.ok('POST', '/me/api-keys', { token, body: { name: 'other' } });
    const twice = await ask(`Authorization: Bearer mrd_${'x'.repeat(32)}\r\nAuthorization: Bearer ${key}\r\n`);
    expect(statusesOf(twice)).toEqual([401]);
    expect(statusesOf(await ask(`x-umami-api-key: ${key}\r\nx-umami-api-key: ${other}\r\n`))).toEqual([401]);
    expect(statusesOf(await ask(`Authorization: Bearer ${key}\r\nx-umami-api-key: ${key}\r\n`))).toEqual([200]);
  });

  test('in the address is none, and none comes back', async () => {
    for (const name of [
      'api_key',
      'apiKey',
      'key',
      'token',
      'access_token',
      'authorization',
      'auth',
      'x-umami-api-key',
    ])
      for (const value of [key, token, `Bearer%20${key}`]) {
        const said = await ask('', `/api/websites?${name}=${value}`);
        expect([name, statusesOf(said), said.includes(value)]).toEqual([name, [401], false]);
      }
    for (const target of [`http://${key}@x/api/websites`, `http://x:${key}@x/api/websites`, `/api/websites#${key}`])
      expect([401, 400]).toContain(statusesOf(await ask('', target))[0]);
  });
});

test('a login of brackets, numbers or keys without end is refused before it is parsed', async () => {
  for (const text of ['['.repeat(900_000), `[${'1,'.repeat(400_000)}1]`, `{${'"a":1,'.repeat(100_000)}"b":1}`]) {
    const said = await exchange(post('/api/auth/login', `${close}Content-Length: ${text.length}\r\n`, text));
    expect([statusesOf(said), said.includes('must not hold more than')]).toEqual([[400], true]);
  }
});

test('the next request of a connection is answered, however much of the refused one before it still comes', async () => {
  const large = `${(3_000_000).toString(16)}\r\n${'x'.repeat(3_000_000)}\r\n0\r\n\r\n`;
  const login = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${large}`;
  const last = head('GET /api/websites', close);
  expect(statusesOf(await exchange(login + last))).toEqual([413, 200]);

  const socket = connect(server.port, '127.0.0.1');
  let said = '';
  socket.setEncoding('latin1').on('data', (text) => (said += text));
  const closed = once(socket, 'close');
  for (const start of ['POST /api/websites', 'DELETE /api/nothing', 'POST /api/auth/login']) {
    const tooLarge = start.endsWith('login') ? 2_000_000 : 2;
    const before = statusesOf(said).length;
    socket.write(`${start} HTTP/1.1\r\nHost: x\r\nContent-Length: ${tooLarge}\r\n\r\n{`);
    await expect.poll(() => statusesOf(said)).toHaveLength(before + 1);
    await delay(700); // as a body takes that comes from far away
    socket.write('}'.padEnd(tooLarge - 1));
  }
  socket.write(last);
  await closed;
  expect(statusesOf(said)).toEqual([401, 401, 413, 200]);
});

describe('a body', () => {
  const create = (body: Buffer | string, headers: string) => {
    const bytes = Buffer.from(body);
    const start = head('POST /api/websites', `${close}Content-Length: ${bytes.length}\r\n${headers}`);
    return exchange(Buffer.concat([Buffer.from(start, 'latin1'), bytes]));
  };
  const json = 'Content-Type: application/json\r\n';
  const fine = JSON.stringify({ name: 'Body', domain: 'shop.example' });

  test.each<[string, Buffer | string, string, number[]]>([
    ['that is compressed', gzipSync(fine), `${json}Content-Encoding: gzip\r\n`, [400, 415]],
    ['that says it is compressed', fine, `${json}Content-Encoding: gzip\r\n`, [200, 400, 415]],
    ['of 100 MB, compressed', gzipSync(Buffer.alloc(100_000_000)), `${json}Content-Encoding: gzip\r\n`, [400, 415]],
    ['in UTF-16', Buffer.from(fine, 'utf16le'), `${json}; charset=utf-16\r\n`, [400, 415]],
    ['that is a form', 'name=a&domain=b', 'Content-Type: application/x-www-form-urlencoded\r\n', [415]],
    ['that is a file', '--x\r\n\r\n--x--', 'Content-Type: multipart/form-data; boundary=x\r\n', [415]],
    ['above 1 MB', JSON.stringify({ name: 'x'.repeat(1_000_001) }), json, [413]],
    ['of brackets', '['.repeat(900_000), json, [400]],
    ['of nested objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, json, [400]],
    ['of many keys', `{${'"a":1,'.repeat(100_000)}"b":1}`, json, [400]],
    ['of half a million numbers', `{"a":[${'1,'.repeat(499_000)}1]}`, json, [400]],
    ['that ends too early', fine.slice(0, -1), json, [400]],
    ['with something behind it', `${fine}{}`, json, [400]],
    ['of numbers that are none', fine.replace('"Body"', '1e999'), json, [400]],
  ])('%s is refused or read as it is', async (_, body, headers, statuses) => {
    const said = await create(body, headers);
    expect(statuses, said.slice(0, 300)).toContain(statusesOf(said).at(-1));
    expect(said).not.toMatch(insides);
    expect(errors).toEqual([]);
  });

  test('with bytes that are no text is stored as text', async () => {
    const said = await create(Buffer.from(fine.replace('Body', 'a\xff\xc0\xafb'), 'latin1'), json);
    expect(JSON.parse(Buffer.from(bodiesOf(said)[0] ?? '', 'latin1').toString()).name).toMatch(/^a\ufffd+b$/);
  });
});

test('every answer is one that nobody may keep or take for something else, whoever gives it', async () => {
  const targets: [string, string, number][] = [
    ['GET /livez', '', 200],
    ['GET /readyz', '', 200],
    ['GET /api/heartbeat', '', 200],
    ['GET /api/websites', '', 200],
    ['OPTIONS /api/websites', '', 204],
    ['GET /', '', 404],
    ['GET /api/nothing', '', 404],
    ['PUT /api/websites', '', 405],
    ['GET /api/websites?page=0', '', 400],
    ['POST /api/websites', 'Content-Type: multipart/form-data\r\nContent-Length: 1\r\n', 415],
    ['POST /api/websites', 'Content-Length: 2000000\r\n', 413],
    ['GET /api/websites', 'Host: y\r\n', 400],
    ['GET /api/websites', 'X: y\r\n'.repeat(300), 431],
    [`GET /api/websites/${randomUUID()}/stats`, '', 404],
  ];
  for (const [line, headers, status] of targets) {
    const said = await exchange(head(line, close + headers), { until: /\}$/ });
    expect([line, statusesOf(said)]).toEqual([line, [status]]);
    expect([line, /^x-content-type-options: nosniff\r$/im.test(said)]).toEqual([line, true]);
    expect([line, /^cache-control: no-store\r$/im.test(said)]).toEqual([line, true]);
    expect(said, line).not.toMatch(/^(x-powered-by|server|set-cookie):/im);
    if (status !== 204) expect(said, line).toMatch(/^content-type: application\/json/im);
  }
});

test('an address or a Host that is none is refused as all else is: with a request id and a region, readable by any origin, as RFC 9457 for who asks', async () => {
  const problem = 'Accept: application/problem+json\r\n';
  for (const start of ['GET /api/websites HTTP/1.1\r\nHost: a b', 'GET http://[x/ HTTP/1.1\r\nHost: x'])
    for (const [accept, type, said] of [
      ['', 'application/json', { error: { code: 'bad-request', status: 400, message: 'The address is not valid.' } }],
      [problem, 'application/problem+json', { title: 'bad-request', status: 400, detail: 'The address is not valid.' }],
    ] as const) {
      const answer = await exchange(`${start}\r\n${close}X-Request-Id: my-id.42\r\n${accept}\r\n`);
      const headers = answer.toLowerCase().split('\r\n\r\n')[0] ?? '';
      for (const line of [
        `content-type: ${type}`,
        'cache-control: no-store',
        'x-content-type-options: nosniff',
        'x-request-id: my-id.42',
        'x-region: us',
        'access-control-allow-origin: *',
      ])
        expect(headers.split('\r\n')).toContain(line);
      expect([statusesOf(answer), JSON.parse(bodiesOf(answer)[0] ?? '')]).toEqual([
        [400],
        expect.objectContaining(said),
      ]);
    }
});

test('an address with dot segments is none, however they are written: what is routed and what is handed on would differ', async () => {
  for (const path of [
    ...['/api/./me', '/api/me/.', '/api/me/..', '/api/websites/../me', '/v1/us/../us/me', '/v1/eu/../us/me'],
    ...['/v1/us/%2e%2e/us/me', '/v1/us/%2E./us/me', '/api/%2e/me?x=1', 'http://x/api/../api/me'],
  ])
    expect([path, statusesOf(await exchange(head(`GET ${path}`, close)))]).toEqual([path, [404]]);
  for (const path of ['/api/me?x=/../', '/v1/us/me?x=/./', '/api/me#/../'])
    expect([path, statusesOf(await exchange(head(`GET ${path}`, close)))]).toEqual([path, [200]]);
});

test('a thousand parameters, and one that comes a thousand times, are read', async () => {
  for (const query of [
    Array.from({ length: 1_000 }, (_, i) => `p${i}=${i}`).join('&'),
    'search=a&'.repeat(1_000),
    '&'.repeat(10_000),
    '='.repeat(10_000),
    '%'.repeat(10_000),
  ])
    expect(statusesOf(await exchange(head(`GET /api/websites?${query}`, close)))).toEqual([200]);
});

test('a header that names another method is nothing but a header', async () => {
  for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', '_method']) {
    for (const line of [`GET /api/websites/${website}`, `GET /api/websites/${website}?_method=DELETE`])
      expect(statusesOf(await exchange(head(line, `${close}${name}: DELETE\r\n`)))).toEqual([200]);
    const update = head(`POST /api/websites/${website}`, `${close}${name}: DELETE\r\nContent-Length: 2\r\n`);
    expect(statusesOf(await exchange(`${update}{}`))).toEqual([200]);
  }
  expect(await isThere()).toBe(true);
});
