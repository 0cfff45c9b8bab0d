import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, describe, expect, test } from 'vitest';
import { chrome, createWebsite, logIn, request } from '../api-client.ts';
import { startMeridian } from '../meridian.ts';

// The one port of `npm start`, where collection and the query API answer side by side: what is written on it, byte for
// byte.
const meridian = await startMeridian();
const port = Number(new URL(meridian.origin).port);
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
const { key } = await admin.ok<{ key: string }>('POST', '/me/api-keys', { name: 'wire' });
const website = await createWebsite(admin);
afterAll(() => meridian.stop());

/** A request on a connection of its own; with the key unless `headers` say otherwise. */
function ask(
  method: string,
  target: string,
  headers = `Host: x\r\nx-umami-api-key: ${key}\r\n`,
  body = '',
): Promise<string> {
  const length = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return rawExchange(port, `${method} ${target} HTTP/1.1\r\nConnection: close\r\n${headers}${length}\r\n${body}`);
}
const noCredential = 'Host: x\r\n';

const isError = (said: string, status: number, code: string) => {
  expect([statusesOf(said), said.includes(`"code":"${code}"`)], said).toEqual([[status], true]);
};

describe('an odd spelling of an address', () => {
  const odd = [
    '/api//websites',
    '//api/websites',
    '/api/./websites',
    '/api/../api/websites',
    '/v1/../v1/websites',
    '/api/%2e%2e/api/websites',
    '/api/websites%2F',
    '/api/websites%00',
    '/api/%77ebsites',
    '/api/WEBSITES',
    '/API/websites',
    '/api/websites;x=1',
    '/api\\websites',
    '/v1/us/eu/websites',
    '/v1/us/us/websites',
    '/v1/eu/websites',
    '/v1/xx/websites',
    '/v1/US/websites',
    '/v2/websites',
    '/api/websites/$W//stats',
    '/api/websites/$W/../$W',
    '/api/websites/%2e%2e/websites/$W',
    '/api/send/../websites/$W',
    '/api/heartbeat/../websites/$W',
    '/livez/../api/websites/$W',
    'http://x//api/websites',
  ];
  test.each(odd)('%s opens nothing to anybody without a credential', async (pattern) => {
    const target = pattern.replaceAll('$W', website.id);
    const anonymous = await ask('GET', target, noCredential);
    expect([400, 401, 404]).toContain(statusesOf(anonymous)[0]);
    expect(anonymous).not.toContain(website.name);
    // Segments of dots are what the address without them is, for authentication too.
    const known = await ask('GET', target);
    expect([200, 400, 404]).toContain(statusesOf(known)[0]);
  });

  test('a trailing slash, a query, every prefix and the absolute form are no odd spellings', async () => {
    for (const target of [
      '/api/websites',
      '/api/websites/',
      '/api/websites?x=/../..',
      '/v1/websites',
      '/v1/us/websites/',
      'http://evil.example/api/websites',
    ]) {
      const said = await ask('GET', target);
      expect([target, statusesOf(said), said.includes(website.name)]).toEqual([target, [200], true]);
      isError(await ask('GET', target, noCredential), 401, 'unauthorized');
    }
  });
});

test('a method that an address does not have is 405 with Allow, an unknown one is 400, and none is answered with what was sent', async () => {
  for (const [method, target, allowed] of [
    ['GET', '/api/send', 'POST, OPTIONS'],
    ['PUT', '/v1/us/batch', 'POST, OPTIONS'],
    ['POST', `/api/websites/${website.id}/stats`, 'GET, HEAD'],
    ['DELETE', `/api/websites/${website.id}/events`, 'GET, HEAD'],
    ['PATCH', '/api/websites', 'GET, POST, HEAD'],
    ['TRACE', '/api/websites', 'GET, POST, HEAD'],
    ['TRACE', '/api/send', 'POST, OPTIONS'],
  ] as const) {
    const said = await ask(method, target, `Host: x\r\nx-umami-api-key: ${key}\r\nCookie: secret\r\n`);
    isError(said, 405, 'method-not-allowed');
    expect(/^allow: (.*)\r$/im.exec(said)?.[1]).toBe(allowed);
    expect(said).not.toContain('secret');
  }
  expect(statusesOf(await ask('STEAL', '/api/websites'))).toEqual([400]);
  expect(await ask('CONNECT', 'x:443')).toBe('');
  const head = await ask('HEAD', '/api/websites');
  expect([statusesOf(head), head.includes(website.name)]).toEqual([[200], false]);
});

test('a header that names another method, another address or another host changes nothing and comes back nowhere', async () => {
  for (const line of [
    'X-HTTP-Method-Override: DELETE',
    'X-HTTP-Method: DELETE',
    'X-Method-Override: DELETE',
    `X-Original-URL: /api/websites/${website.id}/reset`,
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Prefix: /evil',
  ]) {
    const said = await ask('GET', `/api/websites/${website.id}`, `Host: x\r\nx-umami-api-key: ${key}\r\n${line}\r\n`);
    expect([statusesOf(said), said.includes(website.name), said.includes('evil')]).toEqual([[200], true, false]);
  }
  for (const host of ['evil.example', 'evil.example:1', '127.0.0.1:1']) {
    const said = await ask('GET', '/api/websites', `Host: ${host}\r\nx-umami-api-key: ${key}\r\n`);
    expect([statusesOf(said), said.includes('evil')]).toEqual([[200], false]);
  }
  for (const hosts of ['', 'Host: x\r\nHost: y\r\n'])
    isError(await ask('GET', '/api/websites', `${hosts}x-umami-api-key: ${key}\r\n`), 400, 'bad-request');
  // Of a host that makes no address nothing is known but that it is wrong.
  for (const host of ['a b', '[::1', '@', 'x/../y']) {
    const said = await ask('GET', '/api/websites', `Host: ${host}\r\nx-umami-api-key: ${key}\r\n`);
    expect([200, 400]).toContain(statusesOf(said)[0]);
  }
  expect(await admin.get(`/websites/${website.id}`)).toMatchObject({ id: website.id });
});

test('answers of the API may be kept by nobody, errors included', async () => {
  for (const [target, headers] of [
    ['/api/websites', undefined],
    ['/api/websites', noCredential],
    [`/api/websites/${website.id}/stats?startAt=x`, undefined],
    ['/api/nothing', undefined],
  ] as const)
    expect(await ask('GET', target, headers)).toMatch(/^cache-control: no-store\r$/im);
});

test('a body that is announced is asked for where it is wanted, by the API too', async () => {
  const body = JSON.stringify({ name: 'expected', domain: 'expected.example' });
  const expecting = `Host: x\r\nx-umami-api-key: ${key}\r\nExpect: 100-continue\r\n`;
  expect(statusesOf(await ask('POST', '/api/websites', expecting, body))).toEqual([100, 200]);
  const tooLarge = `POST /api/send HTTP/1.1\r\n${expecting}Content-Length: 10000000\r\n\r\n`;
  expect(statusesOf(await rawExchange(port, tooLarge, { until: /\}\}$/ }))).toEqual([413]);
});

test('requests of both kinds in one piece are answered in their order', async () => {
  const event = JSON.stringify({ type: 'event', payload: { website: website.id, url: '/piece' } });
  const send = `POST /api/send HTTP/1.1\r\nHost: x\r\nUser-Agent: ${chrome}\r\nContent-Length: ${event.length}\r\n\r\n${event}`;
  const heartbeat = 'GET /api/heartbeat HTTP/1.1\r\nHost: x\r\n\r\n';
  const last = 'GET /api/websites HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const said = await rawExchange(port, (send + heartbeat).repeat(50) + last);
  expect(statusesOf(said)).toEqual([...Array(100).fill(200), 401]);
  const kinds = [...said.matchAll(/\{"(cache|ok|error)"/g)].map(([, kind]) => kind);
  expect(kinds).toEqual([...Array(50).fill(['cache', 'ok']).flat(), 'error']);
});

test('a login is no cache token and a cache token is no login', async () => {
  const login = await request('POST', `${api}/auth/login`, {
    body: { username: 'admin', password: meridian.password },
  });
  const { token } = login.body as { token: string };
  const send = async (headers: Record<string, string>) => {
    const body = { type: 'event', payload: { website: website.id, url: '/token' } };
    return (await request('POST', `${api}/send`, { headers: { 'user-agent': chrome, ...headers }, body })).body;
  };
  const { sessionId, visitId, cache } = (await send({})) as Record<'sessionId' | 'visitId' | 'cache', string>;
  expect(await send({ 'x-umami-cache': token })).toMatchObject({ sessionId, visitId });
  for (const headers of [{ authorization: `Bearer ${cache}` }, { 'x-umami-api-key': cache }])
    expect((await request('GET', `${api}/websites`, { headers })).status).toBe(401);
});

test('after all of that the process still works', async () => {
  expect(meridian.process.running()).toBe(true);
  expect((await request('GET', `${api}/heartbeat`)).body).toEqual({ ok: true });
});
