import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { apiKeyPrefix, hashApiKey, newApiKey } from '@meridian/registry/credentials';
import { testActor } from '@meridian/registry/registry-fixtures';
import { type HttpServer, listen } from '@meridian/runtime/http/server';
import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { createLogger } from '@meridian/runtime/logger';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { questionMaxMs } from '../config.ts';
import { createQueryApp } from '../create-query-app.ts';
import { createQueryListener } from '../create-query-listener.ts';
import { createQueryCounts } from '../query-counts.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

const peersAt = (other: string, port: number) => ({
  PEER_SECRET: 'a secret between regions, long enough too',
  PEERS: new Map([[other, `http://127.0.0.1:${port}`]]),
});

/**
 * us, which is asked, knows eu, which listens. They share every store, so that only `x-region` tells which of them has
 * answered.
 */
let api: Awaited<ReturnType<typeof createStatisticsApi>>;
let us: Awaited<ReturnType<typeof api.newProcess>>;
let eu: Awaited<ReturnType<typeof api.newProcess>>;
let euServer: HttpServer;
const cameToEu: IncomingMessage[] = [];

beforeAll(async () => {
  api = await createStatisticsApi();
  eu = await api.newProcess({ region: 'eu' }, peersAt('us', 1));
  const answer = createQueryListener(eu.deps);
  const listener: RequestListener = (request, response) => {
    cameToEu.push(request);
    answer(request, response);
  };
  euServer = await listen(listener, { port: 0, host: '127.0.0.1' });
  us = await api.newProcess({}, peersAt('eu', euServer.port));
});
afterAll(async () => {
  await us.close();
  await euServer.close(0);
  await eu.close();
  await api.close();
});

const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const answer = await createQueryApp(us.deps).request(path, { method, headers });
  const text = await answer.text();
  return { status: answer.status, region: answer.headers.get('x-region'), json: text ? JSON.parse(text) : null };
};

/** A website of a region with one event, and the slug of its link. */
async function newShared(region: string) {
  const owner = await api.fixtures.newUser();
  const shareId = `s-${crypto.randomUUID()}`;
  const { id } = await api.fixtures.newWebsite(owner, { region, shareId });
  return { id, slug: shareId };
}

/** The credential of a new account that lives there. */
async function newCaller(homeRegion: string) {
  const { id: userId } = await api.fixtures.newUser({ homeRegion });
  const key = newApiKey();
  const fields = { userId, name: 'x', keyHash: hashApiKey(key), keyPrefix: apiKeyPrefix(key) };
  await api.deps.registry.createApiKey(fields, testActor);
  return { authorization: `Bearer ${key}` };
}

describe('a share link', () => {
  test.each(['/v1', '/api'])('under %s leads to its website, whichever region is asked', async (prefix) => {
    for (const region of ['us', 'eu']) {
      const { id, slug } = await newShared(region);
      const link = await ask(`${prefix}/share/${slug}`);
      expect(link).toMatchObject({ status: 200, region, json: { websiteId: id } });
      expect(await ask(`${prefix}/share/${slug}`, {}, 'HEAD')).toMatchObject({ status: 200, region });
      const headers = { 'x-umami-share-token': String(link.json.token) };
      for (const path of [
        `/websites/${id}/stats?startAt=0&endAt=1`,
        `/websites/${id}`,
        '/me',
        `/websites/${id}/active`,
      ])
        expect(await ask(prefix + path, headers), path).toMatchObject({ status: 200, region });
      expect(await ask(`${prefix}/websites/${id}`, headers)).toMatchObject({ json: { id, name: 'Shop' } });
    }
  });

  test('is unknown to a region that the address names and that is not its website’s', async () => {
    const { id, slug } = await newShared('eu');
    const unknown = await ask('/v1/us/share/s-nobody-has-it');
    expect(await ask(`/v1/us/share/${slug}`)).toEqual(unknown);
    expect(unknown).toMatchObject({ status: 404, region: 'us' });
    const { json } = await ask(`/v1/eu/share/${slug}`);
    const headers = { 'x-umami-share-token': json.token };
    expect(await ask(`/v1/eu/websites/${id}/active`, headers)).toMatchObject({ status: 200, region: 'eu' });
    expect(await ask(`/v1/us/websites/${id}/active`, headers)).toMatchObject({ status: 404, region: 'us' });
  });

  test('of a website whose region is not known is 503, and not unknown', async () => {
    const { slug } = await newShared('mars');
    for (const prefix of ['/v1', '/api'])
      expect(await ask(`${prefix}/share/${slug}`)).toMatchObject({ status: 503, region: 'us' });
  });
});

test('an account whose home region is not known is served where the address names a region, else 503; an unknown region stays one', async () => {
  const headers = await newCaller('mars');
  const statusOf = async (path: string) => (await ask(path, headers)).status;
  for (const path of ['/v1/us/me', '/v1/eu/me', '/api/me']) expect(await statusOf(path), path).toBe(200);
  for (const path of ['/v1/me', '/v1/websites']) expect(await statusOf(path), path).toBe(503);
  for (const path of ['/v1/mars/me', '/v1/xx/me', '/v1/mars']) expect(await statusOf(path), path).toBe(404);
});

test('events that a wrong proxy brings here are handed on to no collector: that would believe where they come from', async () => {
  const headers = { ...(await newCaller('eu')), 'idempotency-key': 'k', 'x-meridian-identity': 'AA,aaaa' };
  cameToEu.length = 0;
  for (const path of ['/v1/eu/send', '/v1/eu/batch', '/v1/eu/send/?x=1', '/v1/send', '/v1/batch/'])
    expect(await ask(path, headers, 'POST'), path).toMatchObject({ status: 404, region: 'us' });
  // Nobody who sends events is told to log in.
  for (const path of ['/v1/mars/send', '/v1/EU/batch'])
    expect(await ask(path, {}, 'POST'), path).toMatchObject({ status: 404, region: 'us' });
  expect(cameToEu).toEqual([]);
});

test('what a client sends under a name that only regions use is not handed on', async () => {
  cameToEu.length = 0;
  expect(await ask('/v1/eu/heartbeat', { 'x-meridian-identity': 'AA,aaaa' })).toMatchObject({
    status: 200,
    region: 'eu',
  });
  expect(cameToEu.map(({ headers }) => Object.keys(headers).filter((name) => name.startsWith('x-meridian-')))).toEqual([
    ['x-meridian-peer'],
  ]);
});

test('what says that a region hands it on, and cannot show it, is 503 and counted, and no fault that is told each time', async () => {
  const told: [level: string, fields: unknown][] = [];
  const at = (level: string) => (fields: unknown) => void told.push([level, fields]);
  const levels = { error: at('error'), warn: at('warn'), info: at('info') };
  const logger = Object.assign(createLogger({ service: 'query' }), levels);
  const counts = createQueryCounts();
  const listening = createQueryApp({ ...us.deps, logger, counts });
  const headers = { 'x-meridian-peer': `eu,${Date.now()},0,203.0.113.99,${'A'.repeat(43)}` };
  for (let i = 0; i < 20; i++) {
    const answer = await listening.request('/v1/us/heartbeat', { headers });
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
  }
  expect(counts.peerClaimsRefused).toBe(20);
  expect(told).toEqual([['warn', { refused: 1 }]]);
});

describe('a request for another region', () => {
  /** us as it listens, with eu at a port. */
  async function listeningWith(euPort: number) {
    const process = await api.newProcess({}, peersAt('eu', euPort));
    const told: unknown[] = [];
    const logger = Object.assign(createLogger({ service: 'query', level: 'error' }), {
      error: (fields: unknown) => void told.push(fields),
    });
    const listening = await listen(createQueryListener({ ...process.deps, logger }), { port: 0, host: '127.0.0.1' });
    const close = async () => {
      await listening.close(0);
      await process.close();
    };
    return { port: listening.port, told, close };
  }
  const request = (start: string, headers: string, body = '') =>
    `${start} HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`;
  const last = request('GET /v1/us/heartbeat', 'Connection: close\r\n');

  test('that cannot be reached is refused with 503 and Retry-After, and told, whatever its body', async () => {
    const { port, told, close } = await listeningWith(1);
    const unreached = [
      request('POST /v1/eu/websites', 'Content-Length: 2\r\n', '{}'),
      request('DELETE /v1/eu/websites/x', ''),
      request('POST /v1/eu/websites', 'Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    ];
    const said = await rawExchange(port, unreached.join('') + last);
    expect([statusesOf(said), said.match(/retry-after: \d/gi)]).toEqual([
      [503, 503, 503, 200],
      Array(3).fill(expect.any(String)),
    ]);
    expect(told).toMatchObject(Array(3).fill({ status: 503, handedOnTo: 'eu' }));
    await close();
  });

  test('that refuses its body leaves the connection to the requests behind it', async () => {
    const { port, told, close } = await listeningWith(euServer.port);
    const unknown = request('POST /v1/eu/websites', 'Content-Length: 900000\r\n', 'x'.repeat(900_000));
    const said = await rawExchange(port, unknown.repeat(5) + last);
    expect([statusesOf(said), told]).toEqual([[401, 401, 401, 401, 401, 200], []]);
    await close();
  });

  test('is waited for longer than a question there may wait for its turn and be asked', async () => {
    const waited: number[] = [];
    for (const waitMaxMs of [0, 20_000, 60_000]) {
      const questionLimits = { ...us.deps.config.questionLimits, waitMaxMs };
      const peers: typeof us.deps.peers = {
        ...us.deps.peers,
        ask(to, asked) {
          waited.push(asked.answerMaxMs - waitMaxMs);
          return us.deps.peers.ask(to, asked);
        },
      };
      const app = createQueryApp({ ...us.deps, peers, config: { ...us.deps.config, questionLimits } });
      expect((await app.request('/v1/eu/heartbeat')).status).toBe(200);
    }
    expect(waited).toEqual(Array(3).fill(questionMaxMs));
  });

  test('that is too large only with what a region adds to it is 431, as one that is too large for any', async () => {
    const { port, told, close } = await listeningWith(euServer.port);
    const statuses = async (region: string, headers: string) =>
      statusesOf(await rawExchange(port, request(`GET /v1/${region}/heartbeat`, `Connection: close\r\n${headers}`)));
    const manyHeaders = Array.from({ length: 198 }, (_, i) => `X${i}: y\r\n`).join('');
    for (const headers of [`X: ${'x'.repeat(16_250)}\r\n`, manyHeaders]) {
      expect(await statuses('us', headers)).toEqual([200]);
      expect(await statuses('eu', headers)).toEqual([431]);
      expect(await statuses('eu', headers.repeat(2))).toEqual([431]);
    }
    expect(told).toEqual([]);
    await close();
  });

  test('whose body is too large is refused here, and breaks nothing of what others send there', async () => {
    const { port, told, close } = await listeningWith(euServer.port);
    cameToEu.length = 0;
    const large = `${(3_000_000).toString(16)}\r\n${'x'.repeat(3_000_000)}\r\n0\r\n\r\n`;
    const said = await rawExchange(
      port,
      request('POST /v1/eu/auth/login', 'Transfer-Encoding: chunked\r\n', large) + last,
    );
    expect([statusesOf(said), cameToEu.length, told]).toEqual([[413, 200], 0, []]);
    await close();
  });

  test('is refused while 64 MB of others wait for that region, which leaves the rest to requests that are served here', async () => {
    const answers: (() => void)[] = [];
    const silent = createServer((_request, response) => {
      answers.push(() => response.writeHead(200, { 'x-region': 'eu' }).end());
    });
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const { port, close } = await listeningWith((silent.address() as AddressInfo).port);
    const post = async (region: string, body = ' '.repeat(990_000)) =>
      (await fetch(`http://127.0.0.1:${port}/v1/${region}/auth/login`, { method: 'POST', body })).status;
    const refused: number[] = [];
    const waiting = Array.from({ length: 67 }, () => post('eu'));
    await expect.poll(() => answers.length).toBe(67);
    for (let i = 0; i < 80; i++) refused.push(await post('eu'));
    expect(refused).toEqual(Array(80).fill(503));
    expect(await post('us')).toBe(400);
    for (const answer of answers) answer();
    expect(await Promise.all(waiting)).toEqual(Array(67).fill(200));
    const next = post('eu');
    await expect.poll(() => answers.length).toBe(68);
    answers.at(-1)?.();
    expect(await next).toBe(200);
    await close();
    silent.close();
  });

  test('ends there when its client leaves, which read nothing of the answer', async () => {
    let open = 0;
    const large = createServer((_request, response) => {
      open++;
      response.once('close', () => open--);
      response.writeHead(200, { 'x-region': 'eu' }).end(Buffer.alloc(20_000_000));
    });
    await new Promise<void>((done) => large.listen(0, '127.0.0.1', done));
    const { port, told, close } = await listeningWith((large.address() as AddressInfo).port);
    const client = connect(port, '127.0.0.1').pause();
    client.write(request('GET /v1/eu/docs', ''));
    await expect.poll(() => open).toBe(1);
    client.destroy();
    await expect.poll(() => open).toBe(0);
    expect(told).toEqual([]);
    await close();
    large.close();
  });

  test('whose answer breaks off is cut off as well, and told in one line of the log; one whose client leaves is not', async () => {
    const printed = vi.spyOn(console, 'error');
    const broken = createServer((request, response) => {
      response.writeHead(200, { 'x-region': 'eu', 'content-type': 'application/json' }).write('['.padEnd(100_000));
      if (request.url?.endsWith('/broken')) setTimeout(() => response.destroy(), 100);
    });
    await new Promise<void>((done) => broken.listen(0, '127.0.0.1', done));
    const { port, told, close } = await listeningWith((broken.address() as AddressInfo).port);
    const get = (path: string) => request(`GET /v1/eu/${path}`, 'X-Request-Id: my-id.42\r\n');
    const left = await rawExchange(port, get('left'), { until: /\[ / });
    const said = await rawExchange(port, get('broken') + last);
    expect([statusesOf(left), statusesOf(said), said.includes('[ '), said.endsWith('0\r\n\r\n')]).toEqual([
      ...[[200], [200]],
      ...[true, false],
    ]);
    const line = { requestId: 'my-id.42', handedOnTo: 'eu', err: { code: 'UND_ERR_SOCKET' } };
    await expect.poll(() => told).toMatchObject([line]);
    expect(printed).not.toHaveBeenCalled();
    await close();
    broken.close();
  });
});

test('what a proxy answers in the stead of a region that is down is 503 in our form, with Retry-After', async () => {
  const answers: [status: number, type: string, body: string][] = [
    [502, 'text/plain', ''],
    [503, 'text/html', '<html>nginx</html>'],
    [200, 'text/html', '<html>Welcome</html>'],
    [404, 'application/json', '{}'],
  ];
  const proxy = createServer((request, response) => {
    const [status, type, body] =
      answers[Number(new URL(request.url ?? '', 'http://x').searchParams.get('answer'))] ?? [];
    response.writeHead(status ?? 500, { 'content-type': type ?? '' }).end(body);
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  const behindProxy = await api.newProcess({}, peersAt('eu', (proxy.address() as AddressInfo).port));
  for (const [index, [status]] of answers.entries()) {
    const answer = await createQueryApp(behindProxy.deps).request(`/v1/eu/heartbeat?answer=${index}`);
    const said = [answer.status, answer.headers.get('x-region'), Number(answer.headers.get('retry-after')) > 0];
    expect(said, String(status)).toEqual([503, 'us', true]);
    expect(await answer.json()).toMatchObject({ error: { code: 'service-unavailable' } });
  }
  await behindProxy.close();
  proxy.close();
});
