import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type ErrorCode, errorBody, errorStatus } from '@meridian/contract/errors';
import type { SpooledRequest } from '@meridian/queue/forward-spool';
import { afterAll, afterEach, expect, test } from 'vitest';
import { writeIdentity } from '../idempotency.ts';
import { chrome, startTestIngest } from '../ingest-fixtures.ts';
import { startTestRegions } from './region-fixtures.ts';

const regions = await startTestRegions({ us: { FORWARD_SPOOL: 'on' } });
afterAll(regions.stop);
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const pageview = (website: string, url: string) => ({ type: 'event', payload: { website, url } });
const request = (elements: unknown[], idempotencyKey: string = randomUUID()): SpooledRequest => ({
  route: 'batch',
  body: JSON.stringify(elements),
  headers: { 'content-type': 'application/json', 'user-agent': chrome },
  address: '203.0.113.7',
  receivedAtMs: Date.now(),
  idempotencyKey,
});
type Collector = Awaited<ReturnType<typeof startTestIngest>>;
const keep = (us: Collector, kept: SpooledRequest) =>
  us.reader.xadd('forward:{eu}', '*', 'request', JSON.stringify(kept));

/** A collector of us, and in place of eu what gives such answers and notes what it was asked. */
async function startBeside(answerTo: (elements: unknown[]) => { status: number; body: unknown }) {
  const asked: IncomingHttpHeaders[] = [];
  const bodies = { underWay: 0, most: 0 };
  const server = createServer(async (incoming, response) => {
    asked.push(incoming.headers);
    bodies.most = Math.max(bodies.most, ++bodies.underWay);
    let text = '';
    for await (const part of incoming) text += part;
    bodies.underWay--;
    const { status, body } = answerTo(JSON.parse(text));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const PEERS = `eu=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const us = await startTestIngest(
    { REGION: 'us', FORWARD_SPOOL: 'on', PEERS, PEER_SECRET: 'a secret between regions, long enough too' },
    { findWebsiteStatus: async () => ({ region: 'eu', resetAt: null, deleted: false }) },
  );
  stops.push(us.stop, async () => void server.close());
  return { us, asked, bodies };
}

/**
 * How a region of a later version answers a batch whose elements it all refuses, with this code, or leaves out, for
 * this reason.
 */
const laterAnswer = (elements: unknown[], { code = '', status = 0, reason = '' }) => {
  const error = { message: 'Not like that.', code, status };
  const details = reason ? [] : elements.map((_, index) => ({ index, error: error.message, response: { error } }));
  const ignoredDetails = reason ? elements.map((_, index) => ({ index, reason })) : [];
  const counted = { size: elements.length, processed: 0, errors: details.length, ignored: ignoredDetails.length };
  return { status: 200, body: { ...counted, details, ignoredDetails, cache: null } };
};

test('what is within the limits here is within them there, however much longer it becomes on its way', async () => {
  for (const isAway of [false, true]) {
    const website = regions.newWebsite('eu');
    const start = (url: string) => `{"type":"event","payload":{"website":"${website}","url":"${url}","title":"`;
    // Bytes that are no UTF-8 become three, and numbers are written out.
    const notUtf8 = (bytes: number) => Buffer.alloc(bytes, 0xff);
    const numbers = `[${Array(290_000).fill('1e20').join()}]`;
    const sent = Buffer.concat([Buffer.from(start('/send')), notUtf8(60_000), Buffer.from('"}}')]);
    const batch = Buffer.concat([
      Buffer.from(`[${start('/batch')}`),
      notUtf8(3_700_000),
      Buffer.from(`","x":${numbers}}}]`),
    ]);
    if (isAway) regions.wayTo.eu.goDown();
    expect([(await regions.us.send(sent)).status, (await regions.us.batch(batch)).status]).toEqual([200, 200]);
    regions.wayTo.eu.goUp();
    await expect.poll(() => regions.waitingIn('us')).toBe(0);
    expect(await regions.urlsStored('eu', website)).toEqual(['/batch', '/send']);
  }
});

test('of large requests few are delivered at once, so that others have room to wait for the region', async () => {
  const { us, asked, bodies } = await startBeside((elements) => laterAnswer(elements, { reason: 'not this one' }));
  const title = 'x'.repeat(3_000_000);
  const kept = Array.from({ length: 9 }, () => request([{ type: 'event', payload: { website: randomUUID(), title } }]));
  for (const one of kept) await keep(us, one);
  await expect.poll(() => us.reader.xlen('forward:{eu}'), { timeout: 20_000 }).toBe(0);
  expect(asked.map((headers) => headers['idempotency-key']).sort()).toEqual(
    kept.map(({ idempotencyKey }) => idempotencyKey).sort(),
  );
  expect(bodies.most).toBeLessThanOrEqual(2);
});

test('what the region cannot take while its registry is away goes round with a pause, keeps nothing waiting, and is stored once', async () => {
  const { us, eu } = regions;
  const [known, unknown] = [regions.newWebsite('eu'), regions.newWebsite('eu')];
  expect((await us.batch([pageview(known, '/known')])).status).toBe(200);
  regions.withoutRegistry.add('eu');
  const before = eu.counts.rejected['service-unavailable'];
  const refused = () => eu.counts.rejected['service-unavailable'] - before;
  const startedAt = performance.now();
  for (let i = 0; i < 3; i++) await keep(us, request([pageview(unknown, `/${i}`), null]));
  await expect.poll(refused).toBeGreaterThanOrEqual(6);
  await delay(2_000);
  // No more than three a second, and one look more at either end.
  expect(refused()).toBeLessThanOrEqual(3 * ((performance.now() - startedAt) / 1_000 + 2));
  await keep(us, request([pageview(known, '/behind'), pageview(unknown, '/3')]));
  await expect.poll(() => regions.urlsStored('eu', known)).toEqual(['/behind', '/known']);
  regions.withoutRegistry.delete('eu');
  await expect.poll(() => regions.waitingIn('us')).toBe(0);
  expect(await regions.urlsStored('eu', unknown)).toEqual(['/0', '/1', '/2', '/3']);
});

test('an element that the region did not take with the first request of its key is not sent again under another', async () => {
  const [website, key] = [regions.newWebsite('eu'), randomUUID()];
  const identity = writeIdentity({ key, website, bodyHash: 'of both' });
  for (const first of [null, pageview(website, '/1')]) {
    const part = request([first, pageview(website, '/2'), null], key);
    await keep(regions.us, { ...part, headers: { ...part.headers, 'x-meridian-identity': identity } });
    await expect.poll(() => regions.waitingIn('us')).toBe(0);
  }
  expect(await regions.urlsStored('eu', website)).toEqual(['/2']);
});

test('an element that a later version refuses for a reason not known here is refused, and not sent again', async () => {
  const { us, asked } = await startBeside((elements) => laterAnswer(elements, { code: 'not-so', status: 418 }));
  const error = { code: 'not-so', status: 418, message: 'Not like that.' };
  const { text } = await us.batch([pageview(randomUUID(), '/')]);
  expect(JSON.parse(text)).toMatchObject({ errors: 1, details: [{ index: 0, response: { error } }] });
  await keep(us, request([pageview(randomUUID(), '/')]));
  await expect.poll(() => us.reader.xlen('forward:{eu}')).toBe(0);
  expect(asked).toHaveLength(2);
});

test('one that a later version cannot take now, by whatever code, is sent again', async () => {
  let status = 503;
  const { us, asked } = await startBeside((elements) => laterAnswer(elements, { code: 'full', status }));
  await keep(us, request([pageview(randomUUID(), '/')]));
  await expect.poll(() => asked.length).toBeGreaterThanOrEqual(2);
  expect(new Set(asked.map((headers) => headers['idempotency-key'])).size).toBe(asked.length);
  status = 418;
  await expect.poll(() => us.reader.xlen('forward:{eu}')).toBe(0);
});

test.each<ErrorCode>(['unreadable-request', 'request-timeout', 'headers-too-large'])(
  'a kept request that the region has not read (%s) is sent again, and is not taken for refused',
  async (code) => {
    let isRead = false;
    const { us, asked } = await startBeside((elements) =>
      isRead
        ? laterAnswer(elements, { code: 'not-so', status: 418 })
        : { status: errorStatus[code], body: errorBody(code, 'Not read.') },
    );
    await keep(us, request([pageview(randomUUID(), '/')]));
    await expect.poll(() => asked.length).toBeGreaterThanOrEqual(2);
    isRead = true;
    await expect.poll(() => us.reader.xlen('forward:{eu}')).toBe(0);
  },
);

test('a reason of a later version for leaving out an event is passed on, and counted as nothing here', async () => {
  const { us } = await startBeside((elements) => laterAnswer(elements, { reason: 'asleep' }));
  const { text } = await us.batch([pageview(randomUUID(), '/')]);
  expect(JSON.parse(text)).toMatchObject({ ignored: 1, ignoredDetails: [{ index: 0, reason: 'asleep' }] });
  expect(us.counts.ignored).toEqual({ 'no-user-agent': 0, crawler: 0, 'blocked-address': 0 });
});

test('while the region takes nothing only the first are tried, also where one among them cannot be read', async () => {
  const { us, asked } = await startBeside(() => ({ status: 503, body: {} }));
  await us.reader.xadd('forward:{eu}', '*', 'request', '{"route":"stream"}');
  for (let i = 0; i < 100; i++) await keep(us, request([pageview(randomUUID(), '/')]));
  await expect.poll(() => asked.length).toBeGreaterThan(40);
  expect(new Set(asked.map((headers) => headers['idempotency-key'])).size).toBeLessThanOrEqual(32);
  expect(await us.reader.xlen('forward:{eu}')).toBe(101);
});
