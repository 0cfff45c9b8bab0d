import { getEventListeners } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { createPeers, type PeerAnswer, type PeerRequest, type Peers, passedHeaders } from './peers.ts';

/** us, whose only peer answers so; `opened`: how many connections came there. */
async function peersOf(listener: RequestListener) {
  const eu = createServer(listener);
  const seen = { opened: 0 };
  eu.on('connection', () => seen.opened++);
  await new Promise<void>((done) => eu.listen(0, '127.0.0.1', 2_048, done));
  const peers = createPeers('us', {
    PEERS: new Map([['eu', `http://127.0.0.1:${(eu.address() as AddressInfo).port}`]]),
    PEER_SECRET: 'a secret between regions, long enough too',
  });
  onTestFinished(async () => {
    await peers.close();
    eu.closeAllConnections();
    eu.close();
  });
  return { peers, seen };
}

const request: PeerRequest = {
  method: 'GET',
  path: '/',
  headers: {},
  claim: { address: '', ageMs: 0 },
  answerMaxMs: 20_000,
};
const withoutEnd: RequestListener = (_request, response) => response.write('an answer without end');
/** Takes every connection to eu, whose answers have no end. */
async function takeAll({ ask }: Peers) {
  const patient = { ...request, answerMaxMs: 3_600_000 };
  const answers = await Promise.all(Array.from({ length: 500 }, () => ask('eu', patient)));
  for (const { body } of answers) body.on('error', () => {});
  return answers;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** How many of them are in memory. */
async function inMemory(bodies: WeakRef<Buffer>[]): Promise<number> {
  await new Promise(setImmediate);
  collectGarbage();
  return bodies.filter((body) => body.deref()).length;
}

const noAnswer = { name: 'PeerError', message: 'Region eu did not answer' };

test('what regions say to each other is never passed on from a client, nor what is about one connection', () => {
  const passed = { authorization: 'Bearer x', 'content-type': 'application/json', accept: '*/*' };
  expect(
    passedHeaders({
      ...passed,
      'x-meridian-peer': 'eu,0,0,,x',
      'x-meridian-identity': 'AA,aaaa',
      'x-meridian-more': '1',
      'x-forwarded-for': '203.0.113.9',
      connection: 'close',
      host: 'eu.example.com',
    }),
  ).toEqual(passed);
});

test('2,000 requests at once share 500 connections to a region, and all are answered', async () => {
  const { peers, seen } = await peersOf((_request, response) => response.end('{}'));
  const asked = Array.from({ length: 2_000 }, () => peers.askWhole('eu', request));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses).toEqual(Array(2_000).fill(200));
  expect(seen.opened).toBeLessThanOrEqual(500);
});

test('who finds every connection to a region in use waits no longer for it than for an answer, and closes it to nobody', async () => {
  const { peers } = await peersOf(withoutEnd);
  const [first] = await takeAll(peers);
  for (const ask of [peers.ask, peers.askWhole])
    await expect(ask('eu', { ...request, answerMaxMs: 100 })).rejects.toMatchObject(noAnswer);
  first?.body.destroy();
  const { status, body } = await peers.ask('eu', request);
  body.on('error', () => {});
  expect(status).toBe(200);
});

test('the clients of one network have half of the connections to a region at most, and keep no other out', async () => {
  const { peers, seen } = await peersOf(withoutEnd);
  const answered: PeerAnswer[] = [];
  const ask = async (network: string) => {
    const answer = await peers.ask('eu', { ...request, network });
    answer.body.on('error', () => {});
    answered.push(answer);
  };
  const asked = Array.from({ length: 300 }, () => ask('203.0.113.9'));
  await expect.poll(() => answered.length, { timeout: 20_000 }).toBe(250);
  await ask('203.0.113.10');
  expect([answered.length, seen.opened]).toEqual([251, 251]);
  for (const { body } of answered.slice(0, 50)) body.destroy();
  await Promise.all(asked);
});

test('a region that says nothing on its connections rests for everybody', async () => {
  const { peers } = await peersOf(() => {});
  await expect(peers.ask('eu', { ...request, answerMaxMs: 100 })).rejects.toMatchObject(noAnswer);
  await expect(peers.ask('eu', request)).rejects.toThrow('Region eu was not reached just now');
});

test('a request that waited for one of our own connections until little time was left closes the region to nobody', async () => {
  const { peers } = await peersOf((asked, response) => {
    if (asked.url !== '/silent') withoutEnd(asked, response);
  });
  const [first] = await takeAll(peers);
  setTimeout(() => first?.body.destroy(), 800);
  await expect(peers.ask('eu', { ...request, path: '/silent', answerMaxMs: 1_000 })).rejects.toMatchObject(noAnswer);
  const { status, body } = await peers.ask('eu', request);
  body.on('error', () => {});
  expect(status).toBe(200);
});

test('a request that has ended before is not sent, and waits for no connection', async () => {
  const { peers, seen } = await peersOf((_request, response) => response.end('{}'));
  const signal = AbortSignal.abort(new Error('the client has left'));
  await expect(peers.ask('eu', { ...request, signal })).rejects.toThrow('the client has left');
  expect(seen.opened).toBe(0);
});

test('of a request that is answered nothing stays in memory, though its signal lives on', async () => {
  const { peers } = await peersOf((asked, response) => asked.resume().on('end', () => response.end('{}')));
  const { signal } = new AbortController();
  const send = async () => {
    const body = Buffer.alloc(1_000_000);
    await peers.askWhole('eu', { ...request, method: 'POST', body, signal });
    return new WeakRef(body);
  };
  const bodies: WeakRef<Buffer>[] = [];
  for (let i = 0; i < 20; i++) bodies.push(await send());
  expect(await inMemory(bodies)).toBeLessThan(3);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(dependentSignals(signal)).toBe(0);
});

/** What AbortSignal.any made of it: node keeps a reference to each, also when it is gone. */
function dependentSignals(signal: AbortSignal): number {
  AbortSignal.any([signal]);
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  const dependents: Set<unknown> = key && Reflect.get(signal, key);
  return dependents.size - 1;
}

test('of a request that ends while it waits for a connection nothing stays in memory', async () => {
  const { peers } = await peersOf(withoutEnd);
  await takeAll(peers);
  const leave = async () => {
    const client = new AbortController();
    const body = Buffer.alloc(1_000_000);
    const asked = peers.ask('eu', { ...request, method: 'POST', body, signal: client.signal });
    client.abort(new Error('the client has left'));
    await expect(asked).rejects.toThrow('the client has left');
    return new WeakRef(body);
  };
  const bodies: WeakRef<Buffer>[] = [];
  for (let i = 0; i < 20; i++) bodies.push(await leave());
  expect(await inMemory(bodies)).toBeLessThan(3);
});

test('an answer is waited for to its end no longer than for its first byte, also where it stalls', async () => {
  const { peers } = await peersOf((_request, response) => {
    setTimeout(() => response.writeHead(200, { 'content-length': 100 }).write('its beginning'), 500);
  });
  const patience = { ...request, answerMaxMs: 1_000 };
  const ended: string[] = [];
  const whole = peers.askWhole('eu', patience).catch(({ message }: Error) => ended.push(message));
  const { body } = await peers.ask('eu', patience);
  await body.toArray().catch(() => ended.push('its silence was too long'));
  await whole;
  expect(ended).toEqual(['The answer of region eu broke off', 'its silence was too long']);
});
