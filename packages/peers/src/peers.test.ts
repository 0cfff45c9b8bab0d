import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createPeers, PeerError, type PeerRequest, passedHeaders } from './peers.ts';

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

test('who finds every connection to a region in use waits no longer for it than for an answer', async () => {
  const { peers } = await peersOf((_request, response) => response.write('an answer without end'));
  const patient = { ...request, answerMaxMs: 3_600_000 };
  const bodies = await Promise.all(Array.from({ length: 500 }, () => peers.ask('eu', patient)));
  for (const { body } of bodies) body.on('error', () => {});
  for (const ask of [peers.ask, peers.askWhole])
    await expect(ask('eu', { ...request, answerMaxMs: 100 })).rejects.toThrow(PeerError);
});
