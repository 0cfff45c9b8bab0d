import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { post } from '../ingest-fixtures.ts';
import { startTestRegions } from './region-fixtures.ts';

type Regions = Awaited<ReturnType<typeof startTestRegions>>;
type RegionName = 'us' | 'eu';

let plain: Regions;
/** They keep what the other one cannot take. eu leaves out no crawlers. */
let spooling: Regions;
let headers: Record<string, string>;

beforeAll(async () => {
  plain = await startTestRegions();
  const FORWARD_SPOOL = 'on';
  spooling = await startTestRegions({ us: { FORWARD_SPOOL }, eu: { FORWARD_SPOOL, BOT_FILTER: 'off' } });
});
afterAll(async () => {
  await plain?.stop();
  await spooling?.stop();
});
beforeEach(() => {
  headers = { 'idempotency-key': randomUUID() };
});

const event = (website: string, url: string, more: Record<string, unknown> = {}) => ({
  type: 'event',
  payload: { website, url, ...more },
});
const crawler = { userAgent: 'Googlebot/2.1' };

/** Batches of both regions, whose first and last elements are of either, of both, and of none. */
function mixedBatches(us: string, eu: string): unknown[][] {
  const events = [event(us, '/1'), event(eu, '/2'), event(us, '/3'), event(eu, '/4')];
  return [
    events,
    events.toReversed(),
    [{ type: 'none' }, ...events, event(eu, '/crawler', crawler)],
    [event(eu, '/early', { timestamp: 5 }), ...events.toReversed(), null],
    [event(randomUUID(), '/unknown'), event(us, '/4'), event(us, '/3'), event(us, '/2'), event(us, '/1')],
  ];
}

test.each<RegionName[]>([
  ['us', 'eu', 'us', 'eu'],
  ['eu', 'us', 'eu'],
  ['us', 'us', 'eu'],
])(
  'a batch of both regions that comes again under its key is stored once and answered as at first: %s, %s, %s',
  async (...at) => {
    for (let i = 0; i < 5; i++) {
      const [us, eu] = [plain.newWebsite('us'), plain.newWebsite('eu')];
      const body = mixedBatches(us, eu)[i];
      headers = { 'idempotency-key': randomUUID() };
      const answers = [];
      for (const region of at) answers.push(await plain[region].batch(body, headers));
      expect(answers.map(({ status }) => status)).toEqual(at.map(() => 200));
      expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ size: body?.length, processed: 4 });
      expect(new Set(answers.map(({ text }) => text)).size, answers.map(({ text }) => text).join('\n')).toBe(1);
      const stored = [...(await plain.urlsStored('us', us)), ...(await plain.urlsStored('eu', eu))];
      expect(stored.sort()).toEqual(['/1', '/2', '/3', '/4']);
    }
  },
);

test('the same batch at both regions at once is stored once', async () => {
  const [us, eu] = [plain.newWebsite('us'), plain.newWebsite('eu')];
  const [body] = mixedBatches(us, eu);
  const sent = Array.from({ length: 20 }, (_, i) => plain[i % 2 === 0 ? 'us' : 'eu'].batch(body, headers));
  expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([200]));
  expect(await plain.urlsStored('us', us)).toEqual(['/1', '/3']);
  expect(await plain.urlsStored('eu', eu)).toEqual(['/2', '/4']);
});

test('what comes again is known by its bytes, whatever they are', async () => {
  const eu = plain.newWebsite('eu');
  const sent = [
    ['/api/batch', JSON.stringify([event(eu, '/pretty')], null, 2)],
    ['/api/batch', JSON.stringify({ events: [event(eu, '/events')] })],
    ['/api/batch', JSON.stringify({ 0: event(eu, '/object') })],
    ['/api/batch', `[{"type":"event","payload":{"website":"${eu.toUpperCase()}","url":"\\/es\\u0063apes"}}]`],
    ['/api/send', `\ufeff${JSON.stringify(event(eu, '/mark'))}`],
    ['/api/send', Buffer.concat([Buffer.from(JSON.stringify(event(eu, '/bytes'))), Buffer.from(' ')])],
    ['/api/send', Buffer.from(JSON.stringify(event(eu, '/latin', { title: 'Café' })), 'latin1')],
  ] as const;
  for (const order of [
    ['us', 'eu'],
    ['eu', 'us'],
  ] as const) {
    for (const [path, body] of sent) {
      headers = { 'idempotency-key': randomUUID() };
      const [first, second] = [
        await post(plain[order[0]].port, path, body, headers),
        await post(plain[order[1]].port, path, body, headers),
      ];
      expect([first.status, second.status, second.text]).toEqual([200, 200, first.text]);
    }
  }
  const stored = await plain.urlsStored('eu', eu);
  expect(stored).toEqual([...new Set(stored)].flatMap((url) => [url, url]));
  expect(stored.length).toBe(2 * sent.length);
});

test('another body under the key is 422 in either region', async () => {
  const [us, eu] = [plain.newWebsite('us'), plain.newWebsite('eu')];
  expect((await plain.us.batch([event(us, '/1'), event(eu, '/2')], headers)).status).toBe(200);
  for (const region of ['us', 'eu'] as const)
    expect((await plain[region].batch([event(us, '/1'), event(eu, '/other')], headers)).status).toBe(422);
  expect([await plain.urlsStored('us', us), await plain.urlsStored('eu', eu)]).toEqual([['/1'], ['/2']]);
});

test('a batch under a key that this region knows with another body is handed on to nobody, so that it can be sent under another key', async () => {
  const [us, eu] = [plain.newWebsite('us'), plain.newWebsite('eu')];
  const more = [event(us, '/1'), event(eu, '/2')];
  expect((await plain.us.batch([event(us, '/1')], headers)).status).toBe(200);
  expect((await plain.us.batch(more, headers)).status).toBe(422);
  expect(await plain.urlsStored('eu', eu)).toEqual([]);
  expect((await plain.us.batch(more, { 'idempotency-key': randomUUID() })).status).toBe(200);
  expect(await plain.urlsStored('eu', eu)).toEqual(['/2']);
});

test('while a batch is being handed on, its key is taken for no other body', async () => {
  const [us, eu] = [plain.newWebsite('us'), plain.newWebsite('eu')];
  const body = [event(us, '/1'), event(eu, '/2')];
  plain.wayTo.eu.hang();
  const handedOn = plain.us.batch(body, headers);
  await expect.poll(() => plain.us.reader.keys(`idempotency:*${headers['idempotency-key']}`)).toHaveLength(1);
  expect((await plain.us.batch([event(us, '/other')], headers)).status).toBe(422);
  plain.wayTo.eu.goUp();
  expect((await handedOn).status).toBe(200);
  expect((await plain.us.batch(body, headers)).text).toBe((await handedOn).text);
  expect([await plain.urlsStored('us', us), await plain.urlsStored('eu', eu)]).toEqual([['/1'], ['/2']]);
});

test('a batch that was answered is answered again by the same region while the other one is away, and is not kept again', async () => {
  for (const regions of [plain, spooling]) {
    const [us, eu] = [regions.newWebsite('us'), regions.newWebsite('eu')];
    for (const body of [mixedBatches(us, eu)[0], [null, event(eu, '/eu alone')]]) {
      headers = { 'idempotency-key': randomUUID() };
      const first = await regions.us.batch(body, headers);
      regions.wayTo.eu.goDown();
      const again = await regions.us.batch(body, headers);
      expect([again.status, again.text]).toEqual([200, first.text]);
      expect(await regions.waitingIn('us')).toBe(0);
      regions.wayTo.eu.goUp();
    }
  }
});

test('what waits for a region is stored once, also when that region gets it directly before it is delivered, or after', async () => {
  for (const first of ['us', 'eu'] as const) {
    const [us, eu] = [spooling.newWebsite('us'), spooling.newWebsite('eu')];
    const second = first === 'us' ? 'eu' : 'us';
    const [body] = mixedBatches(us, eu);
    spooling.wayTo[second].goDown();
    const kept = await spooling[first].batch(body, headers);
    expect([kept.status, await spooling.waitingIn(first)]).toEqual([200, 1]);
    const direct = await spooling[second].batch(body, headers);
    spooling.wayTo[second].goUp();
    await expect.poll(() => spooling.waitingIn(first)).toBe(0);
    const afterwards = [await spooling[second].batch(body, headers), await spooling[first].batch(body, headers)];
    for (const { status, text } of [direct, ...afterwards])
      expect([status, JSON.parse(text)]).toMatchObject([200, { size: 4, processed: 4, errors: 0 }]);
    expect(await spooling.urlsStored('us', us)).toEqual(['/1', '/3']);
    expect(await spooling.urlsStored('eu', eu)).toEqual(['/2', '/4']);
  }
});

test('an event that was left out at first is not stored by a repetition, nor said to be', async () => {
  const [us, eu] = [spooling.newWebsite('us'), spooling.newWebsite('eu')];
  const body = [event(us, '/1'), event(eu, '/crawler', crawler), event(eu, '/3')];
  const first = await spooling.us.batch(body, headers);
  expect(JSON.parse(first.text)).toMatchObject({ processed: 2, ignored: 1, errors: 0 });
  const second = await spooling.eu.batch(body, headers);
  expect([second.status, JSON.parse(second.text)]).toMatchObject([
    200,
    { processed: 2, errors: 1, details: [{ index: 1, response: { error: { code: 'idempotency-key-reused' } } }] },
  ]);
  expect(await spooling.urlsStored('eu', eu)).toEqual(['/3']);
});

test('events count as handed on when the other region has them, and not while they wait or when it leaves them out', async () => {
  const us = spooling.newWebsite('us');
  const { counts } = spooling.eu;
  const before = counts.handedOn;
  const ignored = await spooling.eu.send(event(us, '/crawler', crawler));
  expect([ignored.status, JSON.parse(ignored.text)]).toMatchObject([200, { ignored: 'crawler' }]);
  expect(counts.handedOn).toBe(before);
  spooling.wayTo.us.goDown();
  expect((await spooling.eu.send(event(us, '/crawler', crawler))).status).toBe(200);
  expect((await spooling.eu.send(event(us, '/1'))).status).toBe(200);
  expect((await spooling.eu.batch([event(us, '/2'), event(us, '/crawler', crawler), event(us, '/3')])).status).toBe(
    200,
  );
  expect(counts.handedOn).toBe(before);
  spooling.wayTo.us.goUp();
  await expect.poll(() => spooling.waitingIn('eu')).toBe(0);
  await expect.poll(() => counts.handedOn).toBe(before + 3);
  expect(await spooling.urlsStored('us', us)).toEqual(['/1', '/2', '/3']);
});

test('what another region leaves out or refuses of a batch counts there, and not where it is handed on', async () => {
  const us = spooling.newWebsite('us');
  const known = event(us, '/1');
  expect((await spooling.eu.batch([known])).status).toBe(200);
  const unknownThere = event(spooling.newWebsite('us'), '/2');
  const countsOf = () =>
    [spooling.eu.counts, spooling.us.counts].map((counts) => [
      counts.ignored.crawler,
      counts.rejected['service-unavailable'],
    ]);
  const before = countsOf();
  spooling.withoutRegistry.add('us');
  const { text } = await spooling.eu.batch([known, event(us, '/crawler', crawler), unknownThere]);
  spooling.withoutRegistry.delete('us');
  expect(JSON.parse(text)).toMatchObject({ processed: 1, ignored: 1, errors: 1 });
  expect(countsOf()).toEqual([before[0], before[1]?.map((count) => count + 1)]);
});

test('a batch with a key of which the other region cannot look up a website is not answered by halves for a day: it is refused as a whole, or waits', async () => {
  for (const regions of [plain, spooling]) {
    const [us, eu, unseen] = [regions.newWebsite('us'), regions.newWebsite('eu'), regions.newWebsite('eu')];
    expect((await regions.eu.send(event(eu, '/0'))).status).toBe(200);
    const body = [event(us, '/1'), event(eu, '/2'), event(unseen, '/3')];
    headers = { 'idempotency-key': randomUUID() };
    regions.withoutRegistry.add('eu');
    const first = await regions.us.batch(body, headers);
    expect(first.status).toBe(regions === plain ? 503 : 200);
    expect(await regions.urlsStored('eu', eu)).toEqual(['/0']);
    regions.withoutRegistry.delete('eu');
    await expect.poll(() => regions.waitingIn('us')).toBe(0);
    for (const region of ['us', 'eu', 'us'] as const)
      expect(JSON.parse((await regions[region].batch(body, headers)).text)).toMatchObject({ processed: 3, errors: 0 });
    const stored = [await regions.urlsStored('us', us), await regions.urlsStored('eu', eu)];
    expect([...stored, await regions.urlsStored('eu', unseen)]).toEqual([['/1'], ['/0', '/2'], ['/3']]);
  }
});

test('a client cannot name its request as another one', async () => {
  const eu = plain.newWebsite('eu');
  for (const url of ['/1', '/2']) {
    const named = { ...headers, 'x-meridian-identity': 'AA,aaaa' };
    const { status } = await plain.eu.send(event(eu, url), named);
    expect(status).toBe(url === '/1' ? 200 : 422);
  }
});
