import { afterAll, beforeEach, expect, test } from 'vitest';
import { startTestIngest } from './ingest-fixtures.ts';

/*
 * Odd values that must not lose the event (docs/semantics.md "Values", "URLs"), sent alone and between two neighbours
 * of a batch, byte for byte as written here: stored as documented, once each, the neighbours too.
 */

const ingest = await startTestIngest();
afterAll(ingest.stop);
let website: string;
beforeEach(async () => {
  website = await ingest.newWebsite();
});

type Stored = Partial<Awaited<ReturnType<typeof ingest.storedEvents>>[number]>;

/** `fields`: JSON text of the payload's fields beside the website. */
async function expectStored(fields: string, expected: Stored): Promise<void> {
  const element = `{"type":"event","payload":{"website":"${website}",${fields}}}`;
  const good = (url: string) => JSON.stringify({ type: 'event', payload: { website, url } });
  const sent = await ingest.send(element);
  expect(sent.status, sent.text).toBe(200);
  const batch = await ingest.batch(`[${good('/before')},${element},${good('/behind')}]`);
  expect(JSON.parse(batch.text)).toMatchObject({ size: 3, processed: 3, errors: 0, ignored: 0, details: [] });
  const stored = await ingest.storedEvents(website);
  expect(stored).toHaveLength(4);
  expect(stored[0]).toMatchObject(expected);
  expect(stored[2]).toMatchObject(expected);
  expect([stored[1]?.urlPath, stored[3]?.urlPath]).toEqual(['/before', '/behind']);
}

/** The same value in a row of the table as one field of the payload. */
const field = (name: string, cases: [value: unknown, expected: Stored][]): [string, Stored][] =>
  cases.map(([value, expected]) => [`"${name}":${JSON.stringify(value)}`, expected]);

const long = (length: number) => 'x'.repeat(length);
const emoji = '\u{1f600}';
const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';

test.each<[string, Stored]>([
  ...field('url', [
    ['', { urlPath: '', urlQuery: '' }],
    [null, { urlPath: '' }],
    [[], { urlPath: '' }],
    [{ a: 1 }, { urlPath: '' }],
    [5, { urlPath: '/5' }],
    ['https://shop.example:8443/a/b?x=1#frag', { urlPath: '/a/b#frag', urlQuery: 'x=1', hostname: 'shop.example' }],
    ['//evil.example/x', { urlPath: '//evil.example/x', hostname: '' }],
    ['javascript:alert(1)', { urlPath: '/javascript:alert(1)' }],
    ['data:text/html,x', { urlPath: '/data:text/html,x' }],
    ['C:\\x', { urlPath: '/C:\\x' }],
    ['http://[', { urlPath: '/' }],
    ['/%E0%A4%A', { urlPath: '/%E0%A4%A' }],
    ['/%', { urlPath: '/%' }],
    ['/%zz?%zz', { urlPath: '/%zz', urlQuery: '%zz' }],
    ['/caf\u00e9', { urlPath: '/caf\u00e9' }],
    ['/caf%C3%A9', { urlPath: '/caf\u00e9' }],
    ['/cafe\u0301', { urlPath: '/cafe\u0301' }],
    ['/%00%0d%0a', { urlPath: '/\r\n' }],
    [`/${long(9_999)}`, { urlPath: `/${long(1_999)}` }],
    [`/${long(1_998)}${emoji}`, { urlPath: `/${long(1_998)}` }],
    [`/?${'p=1&'.repeat(500)}utm_source=late`, { urlQuery: 'p=1&'.repeat(500), utmSource: 'late' }],
    ['/?utm_source=a&utm_source=b', { utmSource: 'a' }],
    ['/?UTM_Source=a', { utmSource: 'a' }],
    ['/?utm_source=', { utmSource: '' }],
    ['/?utm_source=%00', { utmSource: '' }],
    [`/?gclid=${long(1_500)}&utm_content=${long(2_000)}`, { gclid: long(255), utmContent: long(255) }],
  ]),
  ...field('referrer', [
    ['http://[::1', { referrerDomain: '' }],
    ['https:/', { referrerDomain: '' }],
    ['about:blank', { referrerDomain: '' }],
    ['android-app://com.mail/', { referrerDomain: 'com.mail' }],
    [`https://news.example/${long(3_000)}`, { referrerDomain: 'news.example', referrerPath: `/${long(1_999)}` }],
    [`https://${'\u6587'.repeat(5_000)}/`, { referrerDomain: '' }],
    ['https://b\u00fccher.example/x', { referrerDomain: 'xn--bcher-kva.example' }],
    ['https://xn--bcher-kva.example/x', { referrerDomain: 'xn--bcher-kva.example' }],
    [{ href: 'https://a.example' }, { referrerDomain: '' }],
  ]),
  ...field('hostname', [
    ['localhost', { hostname: 'localhost' }],
    ['intranet-1', { hostname: 'intranet-1' }],
    ['a.b:8080', { hostname: 'a.b:8080' }],
    ['[2001:db8::1]', { hostname: '[2001:db8::1]' }],
    [long(300), { hostname: long(255) }],
    ['', { hostname: '' }],
  ]),
  ...field('title', [
    [long(50_000), { pageTitle: long(500) }],
    [`${long(499)}${emoji}`, { pageTitle: long(499) }],
    [family, { pageTitle: family }],
    ['\u202eabc', { pageTitle: '\u202eabc' }],
    ['   ', { pageTitle: '   ' }],
    ['\r\nX: y', { pageTitle: '\r\nX: y' }],
    ['a\u0000b\u0000', { pageTitle: 'ab' }],
    ['\u0001\u001b[31m\u007f', { pageTitle: '\u0001\u001b[31m\u007f' }],
    ['\uffff\ufeff\u2028\ufffe', { pageTitle: '\uffff\ufeff\u2028\ufffe' }],
    [`e${'\u0301'.repeat(64)}`, { pageTitle: `e${'\u0301'.repeat(64)}` }],
    ['=1+1', { pageTitle: '=1+1' }],
    ['<script>alert(1)</script>', { pageTitle: '<script>alert(1)</script>' }],
    ["'; DROP TABLE events; --", { pageTitle: "'; DROP TABLE events; --" }],
    ['{x:String}', { pageTitle: '{x:String}' }],
    [true, { pageTitle: 'true' }],
    [-0.5, { pageTitle: '-0.5' }],
    [['a'], { pageTitle: '' }],
  ]),
  ['"title":"a\\ud83d"', { pageTitle: 'a\ufffd' }],
  ['"title":"\\udc00b"', { pageTitle: '\ufffdb' }],
  ['"title":"\\ud83d\\ude00"', { pageTitle: emoji }],
  ['"title":1e400', { pageTitle: 'Infinity' }],
  ['"title":12345678901234567890', { pageTitle: '12345678901234567000' }],
  ...field('screen', [
    ['1920x1080', { screen: '1920x1080' }],
    ['0x0', { screen: '0x0' }],
    ['-1x5', { screen: '-1x5' }],
    ['999999999999999999999x1', { screen: '99999999999999999999' }],
    ['abc', { screen: 'abc' }],
    [1920, { screen: '1920' }],
    [[1920, 1080], { screen: '' }],
  ]),
  ...field('language', [
    ['en-US', { language: 'en-US' }],
    ['xx-INVALID-very-long-and-never-registered', { language: 'xx-INVALID-very-long-and-never-regi' }],
    ['../../etc', { language: '../../etc' }],
    [long(300), { language: long(35) }],
  ]),
  ...field('name', [
    ['', { eventType: 1, eventName: '' }],
    [null, { eventType: 1, eventName: '' }],
    ['\u0000', { eventType: 1, eventName: '' }],
    [{}, { eventType: 1, eventName: '' }],
    ['   ', { eventType: 2, eventName: '   ' }],
    [long(500), { eventType: 2, eventName: long(100) }],
    ['__proto__', { eventType: 2, eventName: '__proto__' }],
    [5, { eventType: 2, eventName: '5' }],
  ]),
  ...field('tag', [
    ['a', { tag: 'a' }],
    [['a'], { tag: '' }],
    [{}, { tag: '' }],
    [5, { tag: '5' }],
    [long(1_000), { tag: long(100) }],
  ]),
  ...field('id', [
    ['user-1', { distinctId: 'user-1' }],
    ['', { distinctId: '' }],
    ['../../x', { distinctId: '../../x' }],
    ['0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50', { distinctId: '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50' }],
    ['\u017c\u00f3\u0142w', { distinctId: '\u017c\u00f3\u0142w' }],
    ['u\u0000', { distinctId: 'u' }],
    [42, { distinctId: '42' }],
    [{}, { distinctId: '' }],
    [long(5_000), { distinctId: long(200) }],
  ]),
  ...['ip', 'userAgent', 'browser', 'os', 'device'].flatMap((name) =>
    [null, '', [], {}, 5, '\u0000', long(10_000), '../../x'].map((value): [string, Stored] => [
      `"${name}":${JSON.stringify(value)},"url":"/kept"`,
      { urlPath: '/kept', device: 'desktop' },
    ]),
  ),
])('%s is stored as documented', expectStored);

test.each<[string, string]>([
  ['null', ''],
  ['{}', ''],
  ['{"a":null}', ''],
  ['{"s":"x","e":"","n":0,"f":1.5,"t":true,"u":false}', '{"s":"x","e":"","n":0,"f":1.5,"t":true,"u":false}'],
  ['{"z":-0}', '{"z":0}'],
  ['{"o":{"a":{"b":{"c":1}}},"l":[1,"a",null,{"x":[]}]}', '{"o.a.b.c":1,"l":"[1,\\"a\\",null,{\\"x\\":[]}]"}'],
  ['{"a":1e400,"b":-1e400,"c":1e-400,"d":1e308}', '{"c":0,"d":1e+308}'],
  ['{"n":9007199254740993,"m":123456789012345678901234567890}', '{"n":9007199254740992,"m":1.2345678901234568e+29}'],
  ['{"d":"2026-02-30","n":"5","t":"true","i":"Infinity"}', '{"d":"2026-02-30","n":"5","t":"true","i":"Infinity"}'],
  ['{"d":"0000-00-00","e":"+275760-09-13T00:00:00Z"}', '{"d":"0000-00-00","e":"+275760-09-13T00:00:00Z"}'],
  ['{"":1,"a.b":2,"$x":3}', '{"":1,"a.b":2,"$x":3}'],
  ['{"toString":1,"hasOwnProperty":2,"then":3}', '{"toString":1,"hasOwnProperty":2,"then":3}'],
  ['{"__proto__":{"polluted":1}}', '{"__proto__.polluted":1}'],
  ['{"constructor":{"prototype":{"polluted":1}}}', '{"constructor.prototype.polluted":1}'],
  ['{"note":"a\\u0000b","k\\u0000":"\\ud83d"}', '{"note":"ab","k":"\ufffd"}'],
  ['{"a":1,"a":2}', '{"a":2}'],
  [`{"${long(10_000)}":"${long(10_000)}"}`, `{"${long(500)}":"${long(2_000)}"}`],
])('data that is %s is stored as %s', (data, stored) => expectStored(`"name":"e","data":${data}`, { data: stored }));

test.each([1_000, 10_000])('of data with %i properties the first 100 are stored', async (count) => {
  const data = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
  const reply = await ingest.batch([{ type: 'event', payload: { website, data } }]);
  expect(JSON.parse(reply.text)).toMatchObject({ processed: 1, errors: 0 });
  const [event] = await ingest.storedEvents(website);
  expect(event?.data).toBe(JSON.stringify(Object.fromEntries(Object.entries(data).slice(0, 100))));
});

test('fields that nobody knows, and those of other events, change nothing', async () => {
  await expectStored(
    '"url":"/a","sessionId":"s","visitId":"v","userId":"u","createdAt":"1999-01-01","eventId":"e","lcp":5',
    {
      urlPath: '/a',
      distinctId: '',
      lcp: null,
      data: '',
    },
  );
  const [alone] = await ingest.storedEvents(website);
  await ingest.send({ type: 'event', payload: { website, url: '/plain' } });
  const plain = (await ingest.storedEvents(website)).at(-1);
  expect([plain?.sessionId, plain?.visitId]).toEqual([alone?.sessionId, alone?.visitId]);
  expect(alone?.eventId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(Math.abs((alone?.createdAtMs ?? 0) - Date.now())).toBeLessThan(600_000);
});

test('nothing can be given through __proto__, and no prototype changes', async () => {
  const other = await ingest.newWebsite();
  await expectStored(`"__proto__":{"website":"${other}","url":"/x","polluted":1},"title":"t"`, {
    pageTitle: 't',
    urlPath: '',
  });
  expect(await ingest.storedEvents(other)).toEqual([]);
  expect('polluted' in {}).toBe(false);
});

test('a website id in upper case is the same website', async () => {
  await ingest.send({ type: 'event', payload: { website: website.toUpperCase(), url: '/a' } });
  expect((await ingest.storedEvents(website)).map((event) => event.urlPath)).toEqual(['/a']);
});

test('of two keys with one name the last counts, for the check and for the store', async () => {
  const other = await ingest.newWebsite();
  const last = `{"type":"x","type":"event","payload":{"website":"${other}","website":"${website}","url":"/1","url":"/2"}}`;
  expect((await ingest.send(last)).status).toBe(200);
  expect((await ingest.storedEvents(website)).map((event) => event.urlPath)).toEqual(['/2']);
  expect(await ingest.storedEvents(other)).toEqual([]);
});
