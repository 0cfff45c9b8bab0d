import { afterAll, describe, expect, test } from 'vitest';
import { type Answer, chrome, createWebsite, logIn } from '../api-client.ts';
import { type LoggedEvent, loggedEvents, post, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

// Faults that others' collectors had with texts, each as the whole kind: no text loses its event, let alone its
// neighbours.
const meridian = await startMeridian({ FLUSH_MAX_WAIT_MS: '10' });
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

const batch = (elements: object[]): Promise<Answer> => post(`${api}/batch`, { 'user-agent': chrome }, elements);

describe('pages in every script', () => {
  const spellings: [string, string[]][] = [
    [
      'Polish',
      [
        '/produkty/46/żółw i jeż',
        '/produkty/46/%C5%BC%C3%B3%C5%82w%20i%20je%C5%BC',
        '/produkty/46/%c5%bc%c3%b3%c5%82w i je%c5%bc',
      ],
    ],
    ['Arabic', ['/مقالات/اللغة-العربية', encodeURI('/مقالات/اللغة-العربية')]],
    ['Persian', ['/صفحه/نمونه‌ها', encodeURI('/صفحه/نمونه‌ها')]],
    ['Chinese', ['/产品/第一页', encodeURI('/产品/第一页')]],
    ['an emoji', ['/👩‍🚀/launch', encodeURI('/👩‍🚀/launch')]],
    ['an absolute URL', ['https://shop.example/über', 'https://shop.example/%C3%BCber', '/über']],
    ['a literal %', ['/100%25', '/100%25', '/100%25']],
    ['an encoded slash', ['/a%2Fb', '/a%2Fb']],
    ['a plus sign', ['/c++', '/c++']],
    ['quotes and a backslash', ['/it\'s "\\', '/it%27s%20%22%5C']],
    ['bytes that are no UTF-8', ['/%E4%F6%FC', '/%E4%F6%FC']],
    ['operators of a filter', ['/eq.c.re.', '/eq.c.re.']],
    ['a comma', ['/a,b', '/a,b']],
  ];
  test.each(spellings)(
    '%s: every spelling is one page, and the path that the log shows selects it',
    async (_, urls) => {
      const website = await createWebsite(admin);
      const elements = urls.map((url, i) => ({
        type: 'event',
        payload: { website: website.id, url, id: `reader ${i}` },
      }));
      elements.push({ type: 'event', payload: { website: website.id, url: '/other', id: 'other' } });
      expect((await batch(elements)).body).toMatchObject({ processed: elements.length });
      const rows = await loggedEvents(admin, website.id, elements.length);
      const paths = new Set(rows.slice(0, urls.length).map((row) => row.urlPath));
      expect(paths.size).toBe(1);
      const [path = ''] = paths;
      expect(await statsOf(admin, website.id, { path })).toMatchObject({
        pageviews: urls.length,
        visitors: urls.length,
      });
    },
  );

  test('what is not the same page stays two: an encoded slash and a slash, a literal %25 and a %', async () => {
    for (const [one, other] of [
      ['/a%2Fb', '/a/b'],
      ['/a%3Fb', '/a?b'],
      ['/a%23b', '/a#b'],
      ['/100%2525', '/100%25'],
      ['/A', '/a'],
    ]) {
      const website = await createWebsite(admin);
      await batch([one, other].map((url) => ({ type: 'event', payload: { website: website.id, url } })));
      const paths = (await loggedEvents(admin, website.id, 2)).map((row) => row.urlPath);
      expect(new Set(paths).size, paths.join(' ')).toBe(2);
    }
  });
});

/** Every place in which a sender can put text. */
const places: [string, (text: string) => object][] = [
  ['path', (text) => ({ url: `/${text}` })],
  ['query', (text) => ({ url: `/?q=${text}` })],
  ['fragment', (text) => ({ url: `/#${text}` })],
  ['host of the url', (text) => ({ url: `https://${text}.example/a` })],
  ...'utm_source utm_medium utm_campaign utm_content utm_term gclid fbclid msclkid ttclid li_fat_id twclid clk'
    .split(' ')
    .map((name): [string, (text: string) => object] => [name, (text) => ({ url: `/lp?a=1&${name}=${text}&b=2` })]),
  ['host of the referrer', (text) => ({ referrer: `https://${text}.example/a` })],
  ['path of the referrer', (text) => ({ referrer: `https://from.example/${text}` })],
  ['query of the referrer', (text) => ({ referrer: `https://from.example/?q=${text}` })],
  ...'url referrer hostname title screen language name tag id ip userAgent browser os device timezone'
    .split(' ')
    .map((name): [string, (text: string) => object] => [name, (text) => ({ [name]: text })]),
  ['key of data', (text) => ({ data: { [text]: 1 } })],
  ['value of data', (text) => ({ data: { note: text } })],
  ['nested key of data', (text) => ({ data: { a: { [text]: { b: 1 } } } })],
  ['array in data', (text) => ({ data: { list: [text, [text]] } })],
];
const longest: [keyof LoggedEvent, number][] = [
  ['urlPath', 2_000],
  ['urlQuery', 2_000],
  ['referrerDomain', 255],
  ['referrerPath', 2_000],
  ['pageTitle', 500],
  ['hostname', 255],
  ['eventName', 100],
  ['distinctId', 200],
  ['tag', 100],
  ['browser', 100],
  ['os', 100],
];

const bad: [string, string][] = [
  ['5,000 letters', 'x'.repeat(5_000)],
  ['5,000 characters of two units', '😀'.repeat(2_500)],
  ['NUL', 'a\0b'],
  ['nothing but NUL', '\0\0'],
  ['a lone surrogate', 'a\ud83d'],
  ['control characters', '\u0001\u0008\u001b[31m\u007f\u0085\r\n\t'],
  ['marks of direction and line', '\u202e\u2028\u2029\ufeff\u200b'],
  ['noncharacters', '\uffff\ufffe'],
  ['the delimiters of others', '\'"`;--\\N\\t,{}[]{}$%s%00 NULL NaN'],
];

test.each(bad)('%s in any place of an event: the event and its neighbours in the batch are stored', async (_, text) => {
  const website = await createWebsite(admin);
  const good = (url: string) => ({ type: 'event', payload: { website: website.id, url } });
  const types = ['event', 'identify', 'performance'];
  for (const [place, fields] of places) {
    const poisoned = types.map((type) => ({ type, payload: { website: website.id, ...fields(text) } }));
    const elements = [good(`/before ${place}`), ...poisoned, good(`/after ${place}`)];
    const answer = await batch(elements);
    expect([place, answer.status, answer.body]).toMatchObject([place, 200, { processed: 5, errors: 0, ignored: 0 }]);
  }
  const rows = await loggedEvents(admin, website.id, 3 * places.length);
  const neighbours = places.flatMap(([place]) => [`/before ${place}`, `/after ${place}`]);
  expect(rows.map((row) => row.urlPath).filter((path) => neighbours.includes(path))).toEqual(neighbours);
  for (const row of rows) {
    for (const [field, length] of longest) expect(String(row[field]).length, field).toBeLessThanOrEqual(length);
    for (const value of Object.values(row).filter((value) => typeof value === 'string')) {
      expect(value.isWellFormed()).toBe(true);
      expect(value).not.toContain('\0');
    }
  }
  await loggedEvents(admin, website.id, places.length, { eventType: 5 });
});

test('a long advertisement link keeps its page and its campaign, and both select it', async () => {
  const website = await createWebsite(admin);
  const url = `/lp?utm_source=ads&utm_medium=paid&utm_campaign=spring&utm_content=${'x'.repeat(2_000)}&clk=${'y'.repeat(1_500)}&gclid=${'z'.repeat(900)}`;
  await batch([{ type: 'event', payload: { website: website.id, url } }]);
  expect(await loggedEvents(admin, website.id, 1)).toMatchObject([{ urlPath: '/lp' }]);
  for (const filter of [
    { utmSource: 'ads' },
    { utmCampaign: 'spring' },
    { utmContent: 'x'.repeat(255) },
    { path: '/lp' },
  ])
    expect(await statsOf(admin, website.id, filter)).toMatchObject({ pageviews: 1, visits: 1 });
});

test('a NUL beside 200 others in one request and in one insert costs none of them', async () => {
  const website = await createWebsite(admin);
  const events = Array.from({ length: 200 }, (_, i) => ({
    type: 'event',
    payload: { website: website.id, url: `/${i}` },
  }));
  const poisoned = {
    website: website.id,
    url: '/nul',
    name: 'logout',
    title: 'x\0y',
    id: 'u\0',
    data: { note: 'a\0b' },
  };
  const answer = await batch([...events.slice(0, 100), { type: 'event', payload: poisoned }, ...events.slice(100)]);
  expect(answer.body).toMatchObject({ processed: 201 });
  const rows = await loggedEvents(admin, website.id, 201);
  expect(rows[100]).toMatchObject({ eventName: 'logout', pageTitle: 'xy', distinctId: 'u', hasData: true });
});
