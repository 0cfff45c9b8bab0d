import { createHash } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that one region has handed on to another, and its answer, without what is about one connection. */
export type Exchange = {
  what: string;
  request: { method: string; path: string; headers: Record<string, string>; body: string };
  answer: { status: number; contentType: string; body: string };
};

/** When it is in both regions, Unix ms. */
export const recordedAtMs = Date.parse('2026-11-28T12:00:00Z');
export const peerSecret = 'a secret between recorded regions, long enough';
export const appSecret = 'a secret of recorded regions, long enough too';
/** A website of each region. */
export const websites = { eu: '11111111-1111-4111-8111-111111111111', us: '22222222-2222-4222-8222-222222222222' };
/** A key of an account whose home region is eu. */
const apiKey = { id: '33333333-3333-4333-8333-333333333333', text: `mrd_${'recorded'.repeat(4)}` };

const pageview = (region: 'us' | 'eu', url: string) => ({ type: 'event', payload: { website: websites[region], url } });
const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const mixed = [
  pageview('eu', '/0'),
  pageview('us', '/1'),
  { type: 'nonsense' },
  { type: 'event', payload: { website: websites.eu, url: '/3', userAgent: 'Googlebot/2.1' } },
  { type: 'event', payload: { website: websites.eu, url: '/4', data: [] } },
  { type: 'event', payload: { website: websites.eu, url: '/5', title: 'Grüße', data: { plan: 'pro' } } },
];

/**
 * A token of eu. With the first event it opens the visit that all the others join, so that answers are the same each
 * time.
 */
const token =
  '11111111-1111-4111-8111-111111111111.7fdadeee-a6cf-5ce6-8b11-7420bf1f1ce2.01a22206-ca00-789d-afcb-11eef99cab6a.mx0cyo00.tp7o00..nWuIol1cb_qLsVvpgBp61IlH3F5hybOLiy0ZxcyW7BU';

/** What clients send to the collector of us, one after the other. */
export const clientEvents = [
  {
    what: 'send, with a key and a token',
    route: 'send',
    body: pageview('eu', '/send'),
    headers: { 'idempotency-key': 'key-of-send', 'x-umami-cache': token },
  },
  { what: 'send', route: 'send', body: pageview('eu', '/send-again'), headers: {} },
  {
    what: 'batch, with a key',
    route: 'batch',
    body: [pageview('us', '/k0'), pageview('eu', '/k1'), pageview('eu', '/k2')],
    headers: { 'idempotency-key': 'key-of-batch' },
  },
  { what: 'batch', route: 'batch', body: mixed, headers: {} },
].map((one, i) => ({
  ...one,
  headers: { 'user-agent': userAgent, ...one.headers, 'x-request-id': `recorded-${i}` } as Record<string, string>,
}));

/** Puts the key into the registry of us. */
export async function insertApiKey({ newUser, sql }: RegistryFixtures): Promise<void> {
  const { id } = await newUser({ homeRegion: 'eu' });
  const keyHash = createHash('sha256').update(apiKey.text).digest();
  const values = [apiKey.id, id, 'recorded', keyHash, apiKey.text.slice(0, 8)];
  await sql('INSERT INTO api_key (id, user_id, name, key_hash, key_prefix) VALUES ($1, $2, $3, $4, $5)', values);
}
type RegistryFixtures = {
  newUser(fields: { homeRegion: string }): Promise<{ id: string }>;
  sql(text: string, values: unknown[]): Promise<unknown>;
};

/** What callers ask the API of us; the last is answered by us itself, after eu has counted it. */
export const clientQuestions = [
  { what: 'question', method: 'GET', path: '/v1/eu/heartbeat?x=%C3%BC', headers: {} },
  {
    what: 'change',
    method: 'POST',
    path: '/v1/eu/websites',
    headers: { authorization: 'Bearer nobody' },
    body: '{"name":"Grüße"}',
  },
  { what: 'rate limit', method: 'GET', path: '/v1/us/me', headers: { authorization: `Bearer ${apiKey.text}` } },
].map((one, i) => ({ ...one, headers: { ...one.headers, 'x-request-id': `asked-${i}` } }));

const ofConnection = ['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding'];

/**
 * Stands between two regions: hands what it gets on to the port `to`, or gives the recorded answers in their order, and
 * keeps every exchange. `what()` names the next one.
 */
export async function startRelay(to: number | readonly Exchange[], what: () => string) {
  const exchanges: Exchange[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = await incoming.toArray();
    const body = Buffer.concat(chunks).toString();
    const { method = '', url: path = '' } = incoming;
    const request = { method, path, headers: told(incoming.headers), body };
    const answer = typeof to === 'number' ? await ask(to, request) : to[exchanges.length]?.answer;
    if (!answer) throw new Error(`There is no recorded answer to ${method} ${path}`);
    exchanges.push({ what: what(), request, answer });
    // Recordings have no headers. The API of every version has named its region in this one, and eu is asked.
    outgoing.writeHead(answer.status, { 'content-type': answer.contentType, 'x-region': 'eu' }).end(answer.body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return { port: (server.address() as AddressInfo).port, exchanges, close };
}

/** Sends a recorded request as it is. */
export function ask(port: number, { method, path, headers, body }: Exchange['request']): Promise<Exchange['answer']> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent: false }, async (answer) => {
      const chunks: Buffer[] = await answer.toArray();
      const contentType = String(answer.headers['content-type'] ?? '');
      resolve({ status: answer.statusCode ?? 0, contentType, body: Buffer.concat(chunks).toString() });
    });
    sent.on('error', reject).end(body);
  });
}

function told(headers: IncomingHttpHeaders): Record<string, string> {
  const names = Object.keys(headers).filter((name) => !ofConnection.includes(name));
  return Object.fromEntries(names.sort().map((name) => [name, String(headers[name])]));
}
