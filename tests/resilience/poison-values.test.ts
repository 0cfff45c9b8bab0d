import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { hostileEvent, object } from '@meridian/ingest/hostile-fixtures';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { chrome, createWebsite, logIn } from '../api-client.ts';
import { type LoggedEvent, loggedEvents, post, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

/*
 * The whole way, collector to query API: what breaks parsers, escapes and databases lies in one entry of the log, and
 * so in one block of one insert, with good events. All of them are stored, once.
 */
const redisDatabase = await createRedisDatabase();
const meridian = await startMeridian({ REDIS_URL: redisDatabase.url });
const redis = new Redis(redisDatabase.url);
const admin = await logIn(`${meridian.origin}/api`, 'admin', meridian.password);
afterAll(async () => {
  redis.disconnect();
  await meridian.stop();
  await redisDatabase.drop();
});

const runs = 4;
const goodEvents = 240;
const hostileEvents = 80;
const json = (value: unknown) => JSON.stringify(value);
const long = (length: number) => 'x'.repeat(length);
const seconds = (ms: number) => String(Math.floor(ms / 1_000));

/** Fields of a payload as JSON text, and what the event log shows of them. */
const text = (value: string, shown = value): [string, Partial<LoggedEvent>][] => [
  [`"title":${json(value)}`, { pageTitle: shown }],
  [`"name":${json(value)}`, { eventName: shown.slice(0, 100) }],
  [`"tag":${json(value)}`, { tag: shown.slice(0, 100) }],
  [`"id":${json(value)}`, { distinctId: shown.slice(0, 200) }],
  [`"hostname":${json(value)}`, { hostname: shown.slice(0, 255) }],
  [`"browser":${json(value)},"os":${json(value)}`, { browser: shown.slice(0, 100), os: shown.slice(0, 100) }],
];
const data = (value: string): [string, Partial<LoggedEvent>] => [`"name":"e","data":${value}`, { hasData: true }];

const poisons = (): [string, Partial<LoggedEvent>][] => [
  ...text('a\ud83d', 'a\ufffd'),
  ...text('\udc00b', '\ufffdb'),
  ...text('a\0b\0', 'ab'),
  ...text('\uffff\ufffe\ufeff\u2028\u2029'),
  ...text('\u0001\u0007\u0008\t\n\r\u001b[31m\u007f\u0085'),
  ...text('\u202eabc\u2066\u200d'),
  ...text(`e${'\u0301'.repeat(64)}`),
  ...text('\\N'),
  ...text('\\x27\\\'"`\\'),
  ...text("'), (1); DROP TABLE events; --"),
  ...text(`{x:String}\${y}%s`),
  ...text('__proto__'),
  ...text('=1+1'),
  ...text('null'),
  [`"title":${json(`${long(499)}\u{1f600}`)}`, { pageTitle: long(499) }],
  ['"title":1e308', { pageTitle: '1e+308' }],
  ['"title":-0', { pageTitle: '0' }],
  ['"title":9007199254740993', { pageTitle: '9007199254740992' }],
  ['"url":"/%"', { urlPath: '/%' }],
  ['"url":"/%E0%A4%A?%zz#%"', { urlPath: '/%E0%A4%A#%', urlQuery: '%zz' }],
  ['"url":"/%00%0A%C3%A9"', { urlPath: '/\n\u00e9' }],
  [`"url":"/${long(10_000)}?${long(10_000)}"`, { urlPath: `/${long(1_999)}`, urlQuery: long(2_000) }],
  [`"timestamp":${seconds(Date.UTC(2000, 0, 1))}`, { createdAt: '2000-01-01T00:00:00.000Z' }],
  [`"timestamp":${seconds(Date.now() + 590_000)}`, {}],
  data('{"n":1e308,"m":-1e308,"z":-0,"i":9007199254740993,"s":5e-324,"o":1e400,"p":1}'),
  data('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"":2}'),
  data('{"a\\u0000b":"\\ud83d","\\udc00":"\\u0000","\\n":"\\t","\\"":"\\\\"}'),
  data(json({ [long(20_000)]: long(20_000) })),
  data(json({ [`${long(499)}\u{1f600}`]: `${long(1_999)}\u{1f600}` })),
  data(object(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, String(i)]))),
  data(`{"deep":${'{"a":'.repeat(29)}1${'}'.repeat(29)}}`),
  data('{"list":[1e400,"\\ud83d\\u0000",{"__proto__":1},[[[]]]]}'),
];

/** Good and other elements in turn, the good ones left over at the end; `isGood` by index. */
function mixed(good: string[], others: string[]): { elements: string[]; isGood: boolean[] } {
  const elements: string[] = [];
  const isGood: boolean[] = [];
  for (let i = 0; i < Math.max(good.length, others.length); i++) {
    for (const [list, flag] of [
      [good, true],
      [others, false],
    ] as const) {
      const element = list[i];
      if (element === undefined) continue;
      elements.push(element);
      isGood.push(flag);
    }
  }
  return { elements, isGood };
}

type BatchAnswer = Record<'details' | 'ignoredDetails', { index: number }[]>;
type EventTypes = { log: number; performance: number };

/** How many rows the accepted elements become, by where the event log shows them; identify becomes none. */
function rowsOf(elements: string[], answer: BatchAnswer): EventTypes {
  const notStored = new Set([...answer.details, ...answer.ignoredDetails].map(({ index }) => index));
  const types = elements
    .filter((_, index) => !notStored.has(index))
    .map((element) => JSON.parse(element).type as string);
  const performance = types.filter((type) => type === 'performance').length;
  return { log: types.filter((type) => type !== 'identify').length - performance, performance };
}

test('no value, however it is made, costs a neighbour of its block, is a dead letter or is stored twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const { id: website } = await createWebsite(admin);
      const event = (fields: string) => `{"type":"event","payload":{"website":"${website}",${fields}}}`;
      const good = Array.from({ length: goodEvents }, (_, i) => event(`"url":"/good/${i}","id":"visitor-${i % 40}"`));
      const poison = poisons();
      const known = poison.map(([fields], i) => event(`"referrer":"https://poison-${i}.example",${fields}`));
      const generated = fc.sample(hostileEvent(website), { seed, numRuns: hostileEvents });
      const { elements, isGood } = mixed(good, [...known, ...generated]);

      const sent = await post(`${meridian.origin}/api/batch`, { 'user-agent': chrome }, `[${elements.join()}]`);
      expect(sent.status, sent.text).toBe(200);
      const answer = sent.body as BatchAnswer;
      expect(answer.details.filter(({ index }) => isGood[index])).toEqual([]);
      const expected = rowsOf(elements, answer);

      const rows = await loggedEvents(admin, website, expected.log);
      const paths = rows.map((row) => row.urlPath).filter((path) => path.startsWith('/good/'));
      expect(paths.toSorted()).toEqual(good.map((_, i) => `/good/${i}`).toSorted());
      for (const [i, [, shown]] of poison.entries()) {
        const row = rows.filter(({ referrerDomain }) => referrerDomain === `poison-${i}.example`);
        expect(row).toEqual([expect.objectContaining(shown)]);
      }
      await loggedEvents(admin, website, expected.performance, { eventType: 5 });
      const pageviews = rows.filter((row) => row.eventType === 1).length;
      expect((await statsOf(admin, website)).pageviews).toBe(pageviews);
      expect(await redis.xlen('dead-letters:{0}')).toBe(0);
      expect(meridian.process.output()).not.toMatch(/dead letters/);
    }),
    { numRuns: runs, endOnFailure: true },
  );
}, 300_000);
