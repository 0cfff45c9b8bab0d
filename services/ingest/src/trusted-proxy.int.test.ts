import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;

beforeAll(async () => {
  ingest = await startTestIngest({ TRUSTED_PROXIES: '127.0.0.1' });
  website = await ingest.newWebsite();
});
afterAll(() => ingest.stop());

async function sessionOf(headers: Record<string, string | string[]>): Promise<string> {
  const reply = await ingest.send({ type: 'event', payload: { website, url: '/a' } }, headers);
  return JSON.parse(reply.text).sessionId;
}

test('behind a trusted proxy the forwarded address makes the visitor, however it is spelled, and a forged part counts nothing', async () => {
  const visitor = await sessionOf({ 'x-forwarded-for': '203.0.113.7' });
  for (const spelling of ['192.0.2.1, 203.0.113.7', '203.0.113.7:4711', '::ffff:203.0.113.7'])
    expect(await sessionOf({ 'x-forwarded-for': spelling })).toBe(visitor);
  expect(await sessionOf({ forwarded: 'for=203.0.113.7' })).toBe(visitor);
  expect(await sessionOf({ 'x-forwarded-for': '198.51.100.9' })).not.toBe(visitor);
  expect(await sessionOf({ 'x-forwarded-for': '2001:db8::1' })).toBe(
    await sessionOf({ 'x-forwarded-for': '[2001:DB8:0:0::1]:443' }),
  );
});

test('the country is that of the forwarded address, or the one that the content network tells', async () => {
  await sessionOf({ 'x-forwarded-for': '8.8.8.8' });
  await sessionOf({ 'x-forwarded-for': '8.8.8.8', 'cf-ipcountry': 'BR', 'cf-region-code': 'SP' });
  const places = (await ingest.storedEvents(website)).slice(-2).map(({ country, region }) => [country, region]);
  expect(places).toEqual([
    ['US', ''],
    ['BR', 'BR-SP'],
  ]);
});

test('an address header that comes twice is one list, and its last part counts', async () => {
  const visitor = await sessionOf({ 'x-forwarded-for': '203.0.113.7' });
  const twice = { 'x-forwarded-for': ['192.0.2.1', '203.0.113.7'], forwarded: ['for=192.0.2.1', 'for=192.0.2.2'] };
  expect(await sessionOf(twice)).toBe(visitor);
  expect(await sessionOf({ forwarded: ['for=192.0.2.1', 'for=203.0.113.7'] })).toBe(visitor);
});

test('garbage in address headers never loses the event', async () => {
  const garbage = ['unknown', '', ',,,', 'fe80::1%eth0', '999.999.999.999', Array(500).fill('1.1.1.1').join(', ')];
  for (const value of garbage) {
    for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'cf-ipcountry'])
      expect(await sessionOf({ [header]: value })).toMatch(/^[0-9a-f-]{36}$/);
  }
});
