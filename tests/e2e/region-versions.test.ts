import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { startTestIngest } from '@meridian/ingest/ingest-fixtures';
import { createQueryApp } from '@meridian/query/create-query-app';
import { createQueryListener } from '@meridian/query/create-query-listener';
import { createTestApi } from '@meridian/query/query-fixtures';
import { afterEach, describe, expect, test } from 'vitest';
import {
  appSecret,
  ask,
  clientEvents,
  clientQuestions,
  type Exchange,
  insertApiKey,
  peerSecret,
  recordedAtMs,
  startRelay,
  websites,
} from './region-exchanges.ts';

/*
 * Regions are upgraded one after the other, so that for a while two versions hand on to each other. `region-messages`
 * has what that looked like: `2-to-1.jsonl` what a region of version 2 sent to one of version 1 and was answered, and
 * what it kept for it, byte for byte, recorded with both at work. A change of what regions send makes a new version
 * here. What a version sent to its own stays, and has to be understood; what it sent to others goes with the next
 * version, which sends something else.
 */

/** What today's regions send; its recordings are those of the newest version. */
const today = '2';
const folder = new URL('./region-messages/', import.meta.url);

type Recording = { sender: string; receiver: string; exchanges: Exchange[]; kept: string[] };
const recordings: Recording[] = readdirSync(folder).map((file) => {
  const [, sender = '', receiver = ''] = /^(\d+)-to-(\d+)\.jsonl$/.exec(file) ?? [];
  const lines = readFileSync(new URL(file, folder), 'utf8').trimEnd().split('\n');
  const all: (Exchange & { text?: string })[] = lines.map((line) => JSON.parse(line));
  const kept = all.flatMap(({ text }) => text ?? []);
  return { sender, receiver, exchanges: all.filter(({ text }) => text === undefined), kept };
});
const sentToday = recordings.filter(({ sender }) => sender === today);
const toItsOwn = recordings.filter(({ sender, receiver }) => sender === receiver);
const isCollection = ({ request }: Exchange) => request.path.startsWith('/api/');

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
const untilEnd = <Stopped>(started: Stopped, stop: () => Promise<unknown>): Stopped => {
  stops.unshift(stop);
  return started;
};

/** A collector of the region as it is today, at the time of the recordings. */
async function startCollector(region: 'us' | 'eu', otherPort: number, settings: Record<string, string> = {}) {
  const other = region === 'us' ? 'eu' : 'us';
  const PEERS = `${other}=http://127.0.0.1:${otherPort}`;
  const started = await startTestIngest(
    { REGION: region, PEERS, PEER_SECRET: peerSecret, APP_SECRET: appSecret, ...settings },
    {
      findWebsiteStatus: async (id) => ({ region: id === websites.eu ? 'eu' : 'us', resetAt: null, deleted: false }),
      now: () => recordedAtMs,
    },
  );
  return untilEnd(started, started.stop);
}

/** The API of both regions as it is today, at the time of the recordings; `asked` is eu, which listens. */
async function startApi(relayTo?: readonly Exchange[]) {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  const api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  untilEnd(api, api.close);
  api.clock.offsetMs = recordedAtMs - Date.now();
  const peersAt = (other: string, port: number) => ({
    PEER_SECRET: peerSecret,
    PEERS: new Map([[other, `http://127.0.0.1:${port}`]]),
  });
  const eu = await api.newProcess({ region: 'eu' }, peersAt('us', 1));
  untilEnd(eu, eu.close);
  const server = createServer(createQueryListener(eu.deps));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  untilEnd(server, async () => server.close());
  const relay = await startRelay(relayTo ?? (server.address() as AddressInfo).port, () => '');
  untilEnd(relay, relay.close);
  const us = await api.newProcess({}, peersAt('eu', relay.port));
  untilEnd(us, us.close);
  return { api, us, relay, port: (server.address() as AddressInfo).port };
}

/** How every version signs a claim's fields. */
function signatureOf(fields: (string | undefined)[], { method, path }: Exchange['request']): string {
  const key = createHmac('sha256', peerSecret).update('peer claim').digest();
  return createHmac('sha256', key)
    .update([...fields, 'eu', method, path].join('\n'))
    .digest('base64url');
}

/**
 * How version 1 read a claim: whatever is sent has to be readable so as long as a region of that version may be there.
 */
function readClaim(request: Exchange['request']): object | null {
  const [from, at, age, address, signature, ...rest] = String(request.headers['x-meridian-peer']).split(',');
  if (rest.length > 0 || signature !== signatureOf([from, at, age, address], request)) return null;
  return Math.abs(recordedAtMs - Number(at)) < 15 * 60_000 ? { from, age: Number(age), address } : null;
}

/** A request with what its claim says instead of the claim, in which is the time. */
const told = ({ request }: Exchange) => {
  const claim = readClaim(request);
  expect(claim).not.toBeNull();
  return { ...request, headers: { ...request.headers, 'x-meridian-peer': claim } };
};

test('what each version sends to itself is recorded, and what today’s sends to each', () => {
  const versions = toItsOwn.map(({ sender }) => sender).sort();
  expect(versions).toEqual(Array.from({ length: Number(today) }, (_, i) => String(i + 1)));
  expect(sentToday.map(({ receiver }) => receiver).sort()).toEqual(versions);
  expect(recordings.filter((one) => !toItsOwn.includes(one) && !sentToday.includes(one))).toEqual([]);
});

describe.each(toItsOwn)('what version $sender sent', ({ exchanges, kept }) => {
  test('is taken by today’s region and answered as by its own version, the events are stored once', async () => {
    const eu = await startCollector('eu', 1);
    const collected = exchanges.filter(isCollection);
    expect(collected).toHaveLength(4);
    for (const { what, request, answer } of collected)
      expect([what, await ask(eu.port, request)]).toEqual([what, answer]);
    // Those with a key again.
    for (const { request, answer } of collected.filter(({ what }) => what.includes('key')))
      expect(await ask(eu.port, request)).toEqual(answer);
    // Where the identity of the whole batch is told, it counts, and not the part's own.
    for (const { request } of collected.filter(({ what }) => what === 'batch, with a key')) {
      const other = { ...request, body: JSON.stringify([...JSON.parse(request.body), null]) };
      const isTold = 'x-meridian-identity' in request.headers;
      expect((await ask(eu.port, other)).status).toBe(isTold ? 200 : 422);
    }
    const stored = await eu.storedEvents();
    expect(stored.map(({ urlPath }) => urlPath).sort()).toEqual(['/0', '/5', '/k1', '/k2', '/send', '/send-again']);
    expect(new Set(stored.map(({ visitId }) => visitId)).size).toBe(1);
  });

  test('waited for it in a collector’s Redis, and is delivered by today’s', async () => {
    const eu = await startCollector('eu', 1);
    const us = await startCollector('us', eu.port, { FORWARD_SPOOL: 'on' });
    expect(kept).toHaveLength(2);
    for (const text of kept) await us.reader.xadd('forward:{eu}', '*', 'request', text);
    await expect
      .poll(async () => (await eu.storedEvents()).map(({ urlPath }) => urlPath).sort())
      .toEqual(['/k1', '/k2', '/send']);
    await expect.poll(() => us.reader.xlen('forward:{eu}')).toBe(0);
  });

  test('are questions that today’s region answers, and requests that it counts', async () => {
    const { port } = await startApi();
    for (const { what, request, answer } of exchanges.filter((one) => !isCollection(one))) {
      const { status, body } = await ask(port, request);
      expect(status, what).toBe(answer.status);
      if (what === 'rate limit') expect(JSON.parse(body)).toMatchObject({ allowed: true, remaining: 49 });
      else expect(body, what).toBe(answer.body);
    }
  });
});

describe.each(sentToday)('to a region of version $receiver today’s', ({ exchanges, kept }) => {
  test('sends the recorded events, and understands what that answered', async () => {
    const relay = await startRelay(exchanges, () => '');
    untilEnd(relay, relay.close);
    const us = await startCollector('us', relay.port);
    const answers = [];
    for (const { route, body, headers } of clientEvents) answers.push(await us[route as 'send'](body, headers));
    const collected = exchanges.filter(isCollection);
    expect(relay.exchanges.map(({ request }) => request)).toEqual(collected.map(({ request }) => request));
    for (const exchange of collected) told(exchange);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const [send, again, batch, mixed] = answers.map(({ text }) => JSON.parse(text));
    expect([send, again]).toEqual(collected.slice(0, 2).map(({ answer }) => JSON.parse(answer.body)));
    expect(batch).toMatchObject({ size: 3, processed: 3, errors: 0, cache: send.cache });
    expect(mixed).toMatchObject({ size: 6, processed: 3, errors: 2, ignored: 1, cache: send.cache });
  });

  test('keeps the recorded requests while that is away', async () => {
    const us = await startCollector('us', 1, { FORWARD_SPOOL: 'on' });
    for (const { route, body, headers } of clientEvents.filter(({ what }) => what.includes('key')))
      expect((await us[route as 'send'](body, headers)).status).toBe(200);
    const entries = await us.reader.xrange('forward:{eu}', '-', '+');
    expect(entries.map(([, [, text]]) => text)).toEqual(kept);
  });

  test('asks the recorded questions, and understands what that answered', async () => {
    const recorded = exchanges.filter((one) => !isCollection(one));
    const { api, us, relay } = await startApi(recorded);
    await insertApiKey(api.fixtures);
    const app = createQueryApp(us.deps);
    const answers = [];
    for (const { method, path, headers, body = null } of clientQuestions)
      answers.push(await app.request(path, { method, headers, body }));
    expect(relay.exchanges.map(told)).toEqual(recorded.map(told));
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200]);
    expect(answers[2]?.headers.get('ratelimit-remaining')).toBe('49');
  });
});

describe('of a later version', () => {
  const [first] = sentToday[0]?.exchanges ?? [];
  if (!first) throw new Error('nothing is recorded');
  const { request, answer } = first;
  const withClaim = (claim: string) => ({ ...request, headers: { ...request.headers, 'x-meridian-peer': claim } });
  const [from, at, age, address] = String(request.headers['x-meridian-peer']).split(',');

  test('what is not known here is left aside: more of a claim, of a body and of the head', async () => {
    const eu = await startCollector('eu', 1);
    const fields = [from, at, age, address, 'more=1', ''];
    const { headers, ...later } = withClaim([...fields, signatureOf(fields, request)].join(','));
    const body = JSON.stringify({ ...JSON.parse(request.body), more: { a: [1] } });
    expect(await ask(eu.port, { ...later, body, headers: { ...headers, 'x-meridian-more': '1' } })).toEqual(answer);
    expect(await eu.storedEvents()).toHaveLength(1);
  });

  test('a claim of another form is refused with 503, so that the event stays with who has it', async () => {
    const eu = await startCollector('eu', 1);
    const { port } = await startApi();
    const later = ['v2', 'us', at, age, address];
    for (const claim of [
      `v2;${String(request.headers['x-meridian-peer'])}`,
      [...later, signatureOf(later, request)].join(','),
    ])
      expect((await ask(eu.port, withClaim(claim))).status).toBe(503);
    expect(await eu.storedEvents()).toEqual([]);
    const question = { method: 'GET', path: '/v1/eu/heartbeat', headers: { 'x-meridian-peer': 'v2;us' }, body: '' };
    expect((await ask(port, question)).status).toBe(503);
  });

  test('more in an answer is left aside', async () => {
    const later = sentToday[0]?.exchanges.map((one) => {
      const body = JSON.stringify({ ...JSON.parse(one.answer.body), more: { a: [1] } });
      return { ...one, answer: { ...one.answer, body } };
    });
    const relay = await startRelay(later ?? [], () => '');
    untilEnd(relay, relay.close);
    const us = await startCollector('us', relay.port);
    for (const { route, body, headers } of clientEvents)
      expect((await us[route as 'send'](body, headers)).status).toBe(200);
  });

  test('what waits in a form that cannot be read here goes on waiting, and keeps nothing behind it waiting', async () => {
    const eu = await startCollector('eu', 1);
    const us = await startCollector('us', eu.port, { FORWARD_SPOOL: 'on' });
    const [kept = ''] = sentToday[0]?.kept ?? [];
    const later = JSON.stringify({ ...JSON.parse(kept), route: 'stream' });
    for (let i = 0; i < 40; i++) await us.reader.xadd('forward:{eu}', '*', 'request', later);
    for (const idempotencyKey of ['one', 'another']) {
      const readable = JSON.stringify({ ...JSON.parse(kept), idempotencyKey, more: 1 });
      await us.reader.xadd('forward:{eu}', '*', 'request', readable);
      await expect.poll(() => us.reader.xlen('forward:{eu}')).toBe(40);
    }
    expect(await eu.storedEvents()).toHaveLength(2);
  });
});
