import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { type HttpServer, listen } from './server.ts';
import { rawExchange, statusesOf } from './test-raw-exchange.ts';

/** Requests that reached the listener: method, target, bytes of the body. */
let seen: string[] = [];
const servers: HttpServer[] = [];

async function start(timeouts?: Parameters<typeof listen>[1]['timeouts']): Promise<number> {
  const server = await listen(
    (request, response) => {
      if (Number(request.headers['content-length'] ?? 0) > 1_000) {
        response.writeHead(413).end('too large');
        return;
      }
      let bytes = 0;
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => {
        seen.push(`${request.method} ${request.url} ${bytes}`);
        response.end(`answer to ${request.url}`);
      });
    },
    { port: 0, host: '127.0.0.1', ...(timeouts && { timeouts }) },
  );
  servers.push(server);
  return server.port;
}

const port = await start();
beforeEach(() => {
  seen = [];
});
afterAll(() => Promise.all(servers.map((server) => server.close(0))));

const post = (headers: string, body = '') => `POST /a HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`;
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body);
const last = 'Connection: close\r\n';
const behind = 'GET /behind HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

test.each([
  ['a negative Content-Length', post('Content-Length: -1\r\n', 'abc')],
  ['a Content-Length with a sign', post('Content-Length: +3\r\n', 'abc')],
  ['a hexadecimal Content-Length', post('Content-Length: 0x3\r\n', 'abc')],
  ['a Content-Length that is a list', post('Content-Length: 3, 3\r\n', 'abc')],
  ['a Content-Length beyond 2^64', post('Content-Length: 99999999999999999999\r\n', 'abc')],
  ['two different Content-Lengths', post('Content-Length: 3\r\nContent-Length: 4\r\n', 'abc')],
  ['the same Content-Length twice', post('Content-Length: 3\r\nContent-Length: 3\r\n', 'abc')],
  ['Content-Length and chunked', post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
  ['chunked and Content-Length', post('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n', '0\r\n\r\n')],
  ['an unknown transfer encoding', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
  ['chunked that is not the last encoding', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n')],
  ['two Transfer-Encodings', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', '0\r\n\r\n')],
  ['a blank before a colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')],
  ['a folded header', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n')],
  ['a control character in a header', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n')],
  ['NUL in a header', post('X: a\0b\r\n')],
  ['NUL in the name of a header', post('X\0: a\r\n')],
  ['a header without a colon', post('X a\r\n')],
  ['a bare CR in the head', post('X: a\rContent-Length: 3\r\n')],
  ['a bare LF in the head', post('X: a\nContent-Length: 3\r\n')],
  ['a chunk size beyond 2^64', chunked('FFFFFFFFFFFFFFFFF\r\nabc')],
  ['a negative chunk size', chunked('-1\r\nabc')],
  ['a chunk size with 0x', chunked('0x3\r\nabc\r\n0\r\n\r\n')],
  ['a chunk size with a blank', chunked('3 \r\nabc\r\n0\r\n\r\n')],
  ['chunks that end in LF', chunked('3\nabc\n0\n\n')],
  ['a chunk longer than it says', chunked('3\r\nabcd0\r\n\r\n')],
  ['a chunk extension of 1 MB', chunked(`3;${'x'.repeat(1_000_000)}\r\nabc\r\n0\r\n\r\n`)],
  ['a trailer of 30 KB', chunked(`0\r\nX: ${'x'.repeat(30_000)}\r\n\r\n`)],
  ['a header of 20 KB', post(`X: ${'x'.repeat(20_000)}\r\n`)],
  ['500 headers', post('X: y\r\n'.repeat(500))],
  ['3,000 headers', post('a:\r\n'.repeat(3_000))],
  ['no Host', 'GET /a HTTP/1.1\r\n\r\n'],
  ['two Hosts', 'GET /a HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n'],
  ['two Hosts under HTTP/1.0', 'GET /a HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['an address of 20 KB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a blank in the address', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['NUL in the address', 'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['an unknown method', 'STEAL /a HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a method in lower case', 'get /a HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['HTTP/0.9', 'GET /a\r\n\r\n'],
  ['HTTP/1.2', 'GET /a HTTP/1.2\r\nHost: x\r\n\r\n'],
  ['HTTP/2 in the clothes of HTTP/1', 'GET /a HTTP/2.0\r\nHost: x\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['the beginning of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['noise', 'nonsense\r\n\r\n'],
])('%s is refused, the connection is closed, and nothing behind it is a request', async (_, bytes) => {
  const said = await rawExchange(port, bytes + behind);
  expect([400, 413, 431]).toContain(statusesOf(said)[0]);
  expect(statusesOf(said)).toHaveLength(1);
  expect(said).toMatch(/connection: close/i);
  expect(said).toMatch(/^x-request-id: \S+\r$/m);
  expect(JSON.parse(/\{.*\}/.exec(said)?.[0] ?? '')).toMatchObject({ error: { status: statusesOf(said)[0] } });
  expect(seen).toEqual([]);
  expect(statusesOf(await rawExchange(port, behind))).toEqual([200]);
});

test('a body that is longer than its Content-Length is no second request; one that breaks off is refused', async () => {
  const said = await rawExchange(port, post('Content-Length: 3\r\n', 'abcdef\r\n\r\n') + behind);
  expect([statusesOf(said), said.includes('/behind')]).toEqual([[200, 400], false]);
  expect(seen).toEqual(['POST /a 3']);
  seen = [];
  for (const bytes of [
    post('Content-Length: 30\r\n', 'abc'),
    chunked('3\r\nabc\r\n'),
    'GET /a HT',
    'GET /a HTTP/1.1\r\nHo',
  ])
    expect(statusesOf(await rawExchange(port, bytes, { end: true }))).toEqual([400]);
  expect(seen).toEqual([]);
});

test('CONNECT gets no tunnel, and an asked-for change of protocol is passed over', async () => {
  expect(await rawExchange(port, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('');
  for (const protocol of ['websocket', 'h2c']) {
    const said = await rawExchange(
      port,
      post(`Connection: Upgrade, close\r\nUpgrade: ${protocol}\r\nContent-Length: 3\r\n`, 'abc'),
    );
    expect(statusesOf(said)).toEqual([200]);
  }
  expect(seen).toEqual(['POST /a 3', 'POST /a 3']);
});

test('HTTP/1.0 is answered, with and without Host, and closed', async () => {
  for (const head of ['GET /a HTTP/1.0\r\n\r\n', 'GET /a HTTP/1.0\r\nHost: x\r\n\r\n'])
    expect(await rawExchange(port, head)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*answer to \/a$/i);
});

test('200 headers are read', async () => {
  expect(statusesOf(await rawExchange(port, post(last + 'X: y\r\n'.repeat(198))))).toEqual([200]);
});

test('100 requests in one piece are answered in their order', async () => {
  const requests = Array.from(
    { length: 100 },
    (_, i) => `POST /${i} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`,
  );
  const said = await rawExchange(port, requests.join('') + behind);
  expect(statusesOf(said)).toEqual(Array(101).fill(200));
  expect([...said.matchAll(/answer to \/(\d+)/g)].map(([, i]) => Number(i))).toEqual([...requests.keys()]);
});

test('of a connection one request is in hand at a time, few wait, and none is begun behind the last answer', async () => {
  let begun = 0;
  let readBytes = 0;
  let answer = () => {};
  const patient = await listen(
    ({ socket }, response) => {
      begun++;
      answer = () => {
        readBytes = socket.bytesRead;
        response.end();
      };
    },
    { port: 0, host: '127.0.0.1' },
  );
  servers.push(patient);
  const client = connect(patient.port, '127.0.0.1').resume();
  client.on('error', () => {}); // its rest is not read
  client.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100_000));
  for (let i = 1; i <= 200; i++) {
    await vi.waitFor(() => expect(begun).toBe(i), { interval: 1 });
    answer();
  }
  await vi.waitFor(() => expect(begun).toBe(201));
  const closed = patient.close(600_000);
  answer();
  await Promise.all([closed, once(client, 'close')]);
  expect(begun).toBe(201);
  expect(readBytes).toBeLessThan(200_000);
});

test.each([10, 1_000, 15_000, 60_000, 300_000])(
  'requests with bodies of %i bytes that wait on a connection take little memory, and come whole',
  async (bodyBytes) => {
    const waits = 200;
    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const got: number[] = [];
    let socket: Socket | undefined;
    const patient = await listen(
      async (request, response) => {
        socket ??= request.socket;
        await held;
        let bytes = 0;
        for await (const chunk of request) bytes += chunk.length;
        got.push(bytes);
        response.end();
      },
      { port: 0, host: '127.0.0.1' },
    );
    servers.push(patient);
    const client = connect(patient.port, '127.0.0.1').resume();
    const one = `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${bodyBytes}\r\n\r\n${'x'.repeat(bodyBytes)}`;
    client.write(`GET /a HTTP/1.1\r\nHost: x\r\n\r\n${one.repeat(waits)}`);
    let readBytes = -1;
    // Until no more is read.
    await vi.waitFor(
      () => {
        const before = readBytes;
        readBytes = socket?.bytesRead ?? -1;
        expect([readBytes, socket]).toEqual([before, expect.anything()]);
      },
      { interval: 100 },
    );
    expect(readBytes).toBeLessThan(200_000);
    goOn();
    await vi.waitFor(() => expect(got).toHaveLength(waits + 1), { timeout: 20_000 });
    expect(got).toEqual([0, ...Array(waits).fill(bodyBytes)]);
    client.destroy();
  },
);

test('what a client has sent in one piece is answered also where it sends no more behind it', async () => {
  const bodies: string[] = [];
  const slow = await listen(
    async (request, response) => {
      await new Promise((done) => setTimeout(done, 10));
      bodies.push(String(Buffer.concat(await request.toArray())));
      response.end();
    },
    { port: 0, host: '127.0.0.1' },
  );
  servers.push(slow);
  const sent = Array.from({ length: 20 }, (_, i) => `${10 + i}`);
  const client = connect({ port: slow.port, host: '127.0.0.1', allowHalfOpen: true });
  client.end(sent.map((body) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n${body}`).join(''));
  expect(statusesOf(String(Buffer.concat(await client.toArray())))).toEqual(Array(20).fill(200));
  expect(bodies).toEqual(sent);
});

test.each([
  ['noise', 'nonsense\r\n\r\n', {}],
  ['a body that cannot be read', chunked('zz\r\n'), {}],
  ['half a head and the end', 'GET /a HT', { end: true }],
  ['half a body and the end', post('Content-Length: 30\r\n', 'abc'), { end: true }],
])('requests before %s are answered, then it is refused', async (_, unreadable, options) => {
  const bodies: string[] = [];
  const slow = await listen(
    async (request, response) => {
      await new Promise((done) => setTimeout(done, 10));
      bodies.push(String(Buffer.concat(await request.toArray())));
      response.end(`answer to ${bodies.at(-1)}`);
    },
    { port: 0, host: '127.0.0.1' },
  );
  servers.push(slow);
  for (const count of [1, 2, 80]) {
    const sent = Array.from({ length: count }, (_, i) => `${10 + i}`);
    const requests = sent.map((body) => post('Content-Length: 2\r\n', body)).join('');
    const said = await rawExchange(slow.port, requests + unreadable, options);
    expect(statusesOf(said)).toEqual([...Array(count).fill(200), 400]);
    expect([...said.matchAll(/answer to (\d+)/g)].map(([, body]) => body)).toEqual(sent);
    expect(bodies.splice(0)).toEqual(sent);
  }
});

test('an answer that is owed before noise is not begun for a client that has gone, and a server that closes gives it', async () => {
  const answers: (() => void)[] = [];
  let ended = 0;
  const patient = await listen(
    ({ socket }, response) => {
      answers.push(() => response.end(Buffer.alloc(10_000_000)));
      socket.once('close', () => ended++);
    },
    { port: 0, host: '127.0.0.1' },
  );
  servers.push(patient);
  const noise = `${post('Content-Length: 0\r\n').repeat(2)}nonsense\r\n\r\n`;
  const gone = connect(patient.port, '127.0.0.1').on('error', () => {});
  gone.write(noise);
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  gone.destroy();
  answers[0]?.();
  await vi.waitFor(() => expect(ended).toBe(1));
  expect(answers).toHaveLength(1);
  const said = rawExchange(patient.port, noise);
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  const closed = patient.close(600_000);
  answers[1]?.();
  await closed;
  expect(statusesOf(await said)).toEqual([200]);
  expect(answers).toHaveLength(2);
});

test('a client that sends no more behind the only request has gone away', async () => {
  let isGone = false;
  const patient = await listen(({ socket }) => void socket.once('close', () => (isGone = true)), {
    port: 0,
    host: '127.0.0.1',
  });
  servers.push(patient);
  connect({ port: patient.port, host: '127.0.0.1', allowHalfOpen: true }).end('GET /a HTTP/1.1\r\nHost: x\r\n\r\n');
  await vi.waitFor(() => expect(isGone).toBe(true));
});

test('a client that waits for 100 Continue hears it when its body is wanted, and the refusal alone when it is not', async () => {
  const expecting = (length: number) => post(`${last}Expect: 100-continue\r\nContent-Length: ${length}\r\n`);
  expect(statusesOf(await rawExchange(port, expecting(10), { until: / Continue\r\n\r\n/ }))).toEqual([100]);
  expect(statusesOf(await rawExchange(port, `${expecting(3)}abc`))).toEqual([100, 200]);
  expect(statusesOf(await rawExchange(port, expecting(1_000_000), { until: /too large/ }))).toEqual([413]);
});

test('another expectation is passed over, so that who answers is who answers all else', async () => {
  const said = await rawExchange(port, post('Expect: more\r\nContent-Length: 3\r\n', 'abc') + behind);
  expect([statusesOf(said), seen]).toEqual([
    [200, 200],
    ['POST /a 3', 'GET /behind 0'],
  ]);
});

test('clients that never finish their head or their body are cut off, while others are answered', async () => {
  const impatient = await start({ headersTimeout: 300, requestTimeout: 600, connectionsCheckingInterval: 50 });
  const endless = Array.from({ length: 50 }, (_, i) => {
    const bytes = i % 2 === 0 ? 'POST /a HTTP/1.1\r\nHost: x\r\nX-Slow: ' : post('Content-Length: 100\r\n', 'abc');
    return rawExchange(impatient, bytes);
  });
  expect(statusesOf(await rawExchange(impatient, behind))).toEqual([200]);
  for (const said of await Promise.all(endless)) expect(statusesOf(said)).toEqual([408]);
  expect(seen).toEqual(['GET /behind 0']);
});

test('a head that is not read to its end because requests before it wait is not too late', async () => {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const patient = await listen((_, response) => void held.then(() => response.end()), {
    port: 0,
    host: '127.0.0.1',
    timeouts: { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 20 },
  });
  servers.push(patient);
  const said = rawExchange(patient.port, post('Content-Length: 0\r\n').repeat(2_000) + behind);
  await new Promise((done) => setTimeout(done, 400));
  goOn();
  expect(statusesOf(await said)).toEqual(Array(2_001).fill(200));
});

test('an answer that nobody reads is let go with its connection; one that is read arrives whole', async () => {
  const answerBytes = 50_000_000;
  const ended: string[] = [];
  const generous = await listen(
    (request, response) => {
      response.once('close', () => ended.push(String(request.url)));
      response.end(Buffer.alloc(answerBytes, 'x'));
    },
    { port: 0, host: '127.0.0.1', timeouts: { timeout: 1_000 } },
  );
  servers.push(generous);
  const unread = Array.from({ length: 5 }, () => connect(generous.port, '127.0.0.1').pause());
  for (const socket of unread) socket.on('error', () => {}).write('GET /unread HTTP/1.1\r\nHost: x\r\n\r\n');
  expect((await rawExchange(generous.port, behind)).length).toBeGreaterThan(answerBytes);
  await vi.waitFor(() => expect(ended.sort()).toEqual(['/behind', ...Array(5).fill('/unread')]), { timeout: 20_000 });
  for (const socket of unread) socket.destroy();
}, 30_000);

test('a client that was refused before it ended its body, and never ends it, is cut off without a second answer', async () => {
  const impatient = await start({ headersTimeout: 300, requestTimeout: 600, connectionsCheckingInterval: 50 });
  expect(statusesOf(await rawExchange(impatient, post('Content-Length: 2000\r\n', 'abc')))).toEqual([413]);
});

test('a server that closes finishes the request in hand and says that it was the last, and waits for no idle connection', async () => {
  let begun = 0;
  const closing = await listen(
    (request, response) => {
      begun++;
      request.resume().on('end', () => response.end(`answer to ${request.url}`));
    },
    { port: 0, host: '127.0.0.1' },
  );
  const idle = connect(closing.port, '127.0.0.1');
  const busy = connect(closing.port, '127.0.0.1');
  const unused = connect(closing.port, '127.0.0.1');
  await once(unused, 'connect');
  for (const socket of [idle, busy]) socket.write(post('Content-Length: 0\r\n'));
  await Promise.all([once(idle, 'data'), once(busy, 'data')]);
  busy.write(post('Content-Length: 4\r\n', 'ab'));
  await vi.waitFor(() => expect(begun).toBe(3));
  const ended = Promise.all([once(idle, 'close'), once(unused, 'close')]);
  const closed = closing.close(600_000);
  await ended;
  let said = '';
  busy.on('data', (data) => (said += data));
  busy.write('cd');
  await Promise.all([closed, once(busy, 'close')]);
  expect(said.match(/answer to \/[a-z]+/g)).toEqual(['answer to /a']);
  expect(said).toMatch(/connection: close/i);
});

test('a server that closes lets an answer that is read slowly arrive whole', async () => {
  const answerBytes = 20_000_000;
  const closing = await listen((_, response) => response.end(Buffer.alloc(answerBytes, 'x')), {
    port: 0,
    host: '127.0.0.1',
  });
  servers.push(closing);
  const reader = connect(closing.port, '127.0.0.1');
  reader.write(post('Content-Length: 0\r\n'));
  await once(reader, 'readable');
  const closed = closing.close(600_000);
  await new Promise((done) => setTimeout(done, 200));
  const said = Buffer.concat(await reader.toArray());
  await closed;
  expect(said.length - said.indexOf('\r\n\r\n') - 4).toBe(answerBytes);
});

// Waits for the real limit: with others the test would pass also if the shipped one were an hour.
test('as shipped, a client that does not end the head of its request is told so and cut', async () => {
  const said = await rawExchange(port, 'GET /a HTTP/1.1\r\nHost: x\r\n');
  expect([statusesOf(said), JSON.parse(/\{.*\}/.exec(said)?.[0] ?? '').error.code]).toEqual([[408], 'request-timeout']);
}, 40_000);
