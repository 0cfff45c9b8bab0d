import { afterAll, describe, expect, test } from 'vitest';
import { startTestIngest } from './ingest-fixtures.ts';

const started: Awaited<ReturnType<typeof startTestIngest>>[] = [];
afterAll(async () => {
  for (const ingest of started) await ingest.stop();
});

const visitor = '203.0.113.7';
const peer = '127.0.0.1';
/** Everything in which a proxy, or somebody who would like to be one, names an address. */
const otherHeaders = [
  'x-real-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'true-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'fastly-client-ip',
  'x-nf-client-connection-ip',
  'do-connecting-ip',
  'x-appengine-user-ip',
  'x-umami-client-ip',
  'x-original-forwarded-for',
  'forwarded-for',
  'via',
];
type Case = [headers: Record<string, string>, address: string];
const others = (address: string): Case[] => otherHeaders.map((name) => [{ [name]: visitor }, address]);
const all = Object.fromEntries([...otherHeaders, 'x-forwarded-for'].map((name) => [name, visitor]));

const cases: { peer: string; settings: Record<string, string>; chosen: Case[] }[] = [
  {
    peer: 'untrusted',
    settings: { TRUSTED_PROXIES: '10.0.0.0/8,192.0.2.1,::2' },
    chosen: [
      [{}, peer],
      ...others(peer),
      [{ 'x-forwarded-for': visitor }, peer],
      [{ 'x-forwarded-for': `${visitor}, 10.0.0.1` }, peer],
      [{ forwarded: `for=${visitor}` }, peer],
      [all, peer],
    ],
  },
  {
    peer: 'untrusted, although it sends the header that is named',
    settings: { TRUSTED_PROXIES: '10.0.0.0/8', CLIENT_IP_HEADER: 'X-Real-IP' },
    chosen: [...others(peer), [all, peer]],
  },
  {
    peer: 'trusted',
    settings: { TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8' },
    chosen: [
      [{}, peer],
      ...others(peer),
      [{ 'x-forwarded-for': visitor }, visitor],
      [{ 'x-forwarded-for': `192.0.2.1, ${visitor}` }, visitor],
      [{ 'x-forwarded-for': `192.0.2.1,${visitor},10.9.9.9 , 127.0.0.1` }, visitor],
      [{ 'x-forwarded-for': `${visitor}:51234` }, visitor],
      [{ 'x-forwarded-for': '::ffff:cb00:7107' }, visitor],
      [{ 'x-forwarded-for': '10.0.0.8, 10.0.0.9' }, '10.0.0.8'],
      [{ 'x-forwarded-for': `${visitor}, unknown` }, peer],
      [{ 'x-forwarded-for': '2001:DB8:0:0::1' }, '2001:db8::1'],
      [{ 'x-forwarded-for': '[2001:db8::1]:443' }, '2001:db8::1'],
      [{ forwarded: `for=192.0.2.1, for="${visitor}:4711";proto=https` }, visitor],
      [{ forwarded: 'for="[2001:db8::1]"' }, '2001:db8::1'],
      [{ 'x-forwarded-for': visitor, forwarded: 'for=192.0.2.1' }, visitor],
      [{ 'x-forwarded-for': visitor, 'x-real-ip': '192.0.2.1', 'cf-connecting-ip': '192.0.2.2' }, visitor],
    ],
  },
  {
    peer: 'trusted, with a header named',
    settings: { TRUSTED_PROXIES: '127.0.0.1', CLIENT_IP_HEADER: 'CF-Connecting-IP' },
    chosen: [
      [{ 'cf-connecting-ip': visitor }, visitor],
      [{ 'cf-connecting-ip': visitor, 'x-forwarded-for': '192.0.2.1', 'true-client-ip': '192.0.2.2' }, visitor],
      [{ 'cf-connecting-ip': '2001:DB8::0001' }, '2001:db8::1'],
      [{ 'x-forwarded-for': visitor }, peer],
      [{ 'cf-connecting-ip': 'unknown', 'x-forwarded-for': visitor }, peer],
      [{ 'cf-connecting-ip': '' }, peer],
    ],
  },
];

describe.each(cases)('a peer that is $peer', ({ settings, chosen }) => {
  test('the address that makes the visitor is the one of the table, whatever other headers say', async () => {
    const ingest = await startTestIngest(settings);
    started.push(ingest);
    const website = await ingest.newWebsite();
    const sessionOf = async (fields: object, headers: Record<string, string> = {}) =>
      JSON.parse((await ingest.send({ type: 'event', payload: { website, ...fields } }, headers)).text).sessionId;
    const addressOf = new Map<string, string>();
    for (const address of [visitor, peer, '10.0.0.8', '2001:db8::1', '192.0.2.1', '192.0.2.2'])
      addressOf.set(await sessionOf({ ip: address }), address);
    expect(addressOf.size).toBe(6);
    for (const [headers, address] of chosen)
      expect([headers, addressOf.get(await sessionOf({}, headers))]).toEqual([headers, address]);
  });
});

test('the place that a content network names is not believed from a peer that is not trusted', async () => {
  const ingest = await startTestIngest({ TRUSTED_PROXIES: '10.0.0.0/8' });
  started.push(ingest);
  const website = await ingest.newWebsite();
  for (const header of ['cf-ipcountry', 'x-vercel-ip-country', 'cloudfront-viewer-country'])
    await ingest.send({ type: 'event', payload: { website } }, { [header]: 'BR' });
  expect((await ingest.storedEvents(website)).map((stored) => stored.country)).toEqual(['', '', '']);
});
