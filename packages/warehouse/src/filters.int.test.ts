import { expect, test } from 'vitest';
import { filterCondition } from './filters.ts';
import { buildQuery } from './query.ts';
import type { Comparison, Filter, FilterName, Question } from './question.ts';
import { createTestSite, type TestEvent } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client } = await createTestWarehouse();

/**
 * Events whose tag names them; `select` answers with the tags of those that a question finds, in alphabetical order.
 */
async function tagged(events: Record<string, Partial<TestEvent>>) {
  const site = createTestSite(warehouse);
  await site.insert(Object.entries(events).map(([tag, fields]) => ({ t: '10:00', session: tag, ...fields, tag })));
  const select = async (filters: Filter[], question: Partial<Question> = {}) => {
    const { value } = await warehouse.listEvents(site.ask({ filters, ...question }), { offset: 0, limit: 100 });
    return value.rows.map((row) => row.tag).sort();
  };
  return { site, select };
}

const is = (name: FilterName, ...values: string[]): Comparison => ({ name, op: 'eq', values });
const filter = (name: FilterName, op: Comparison['op'], ...values: string[]): Comparison => ({ name, op, values });

const fields: [FilterName, keyof TestEvent][] = [
  ['path', 'urlPath'],
  ['referrer', 'referrerDomain'],
  ['title', 'pageTitle'],
  ['query', 'urlQuery'],
  ['os', 'os'],
  ['browser', 'browser'],
  ['device', 'device'],
  ['country', 'country'],
  ['region', 'region'],
  ['city', 'city'],
  ['language', 'language'],
  ['event', 'eventName'],
  ['utmSource', 'utmSource'],
  ['utmMedium', 'utmMedium'],
  ['utmCampaign', 'utmCampaign'],
  ['utmContent', 'utmContent'],
  ['utmTerm', 'utmTerm'],
  ['hostname', 'hostname'],
  ['distinctId', 'distinctId'],
];

test('every filter looks at its own field, with every operator', async () => {
  const mine = Object.fromEntries(fields.map(([name, field]) => [field, `value-of-${name}.mine`.toLowerCase()]));
  const other = Object.fromEntries(fields.map(([name, field]) => [field, `value-of-${name}.other`.toLowerCase()]));
  const none = Object.fromEntries(fields.map(([, field]) => [field, '']));
  const { select } = await tagged({ mine, none, other });
  const check = async (name: FilterName) => {
    const value = `value-of-${name}.mine`.toLowerCase();
    const found = {
      eq: await select([is(name, value)]),
      absent: await select([is(name, 'absent')]),
      neq: await select([filter(name, 'neq', value)]),
      c: await select([filter(name, 'c', 'MINE')]),
      dnc: await select([filter(name, 'dnc', '.MINE')]),
      re: await select([filter(name, 're', `${name}\\.mine$`)]),
      nre: await select([filter(name, 'nre', '^VALUE.*E$')]),
      s: await select([filter(name, 's')]),
      ns: await select([filter(name, 'ns', 'ignored')]),
    };
    const [mine, others] = [['mine'], ['none', 'other']];
    expect(found, name).toEqual({
      eq: mine,
      absent: [],
      neq: others,
      c: mine,
      dnc: others,
      re: mine,
      nre: others,
      s: ['mine', 'other'],
      ns: ['none'],
    });
  };
  await Promise.all(fields.map(([name]) => check(name)));
  expect(await select([is('tag', 'mine')])).toEqual(['mine']);
});

test('eq and neq regard letter case, except for os, browser, device, country, region, city and language', async () => {
  const ignoring = ['os', 'browser', 'device', 'country', 'region', 'city', 'language'];
  const upper = Object.fromEntries(fields.map(([, field]) => [field, 'ŻÓŁW']));
  const { select } = await tagged({ upper });
  for (const [name] of fields.filter(([name]) => name !== 'referrer')) {
    const found = ignoring.includes(name) ? ['upper'] : [];
    expect(await select([is(name, 'żółw')]), name).toEqual(found);
    expect(await select([filter(name, 'neq', 'żółw')]), name).toEqual(found.length ? [] : ['upper']);
  }
});

test('several values are alternatives, of which neq, dnc and nre forbid each', async () => {
  const { select } = await tagged({
    a: { urlPath: '/a' },
    b: { urlPath: '/b' },
    c: { urlPath: '/c' },
    comma: { urlPath: '/a,/b' },
  });
  expect(await select([is('path', '/a', '/b')])).toEqual(['a', 'b']);
  expect(await select([is('path', '/a', '/b', '/a,/b')])).toEqual(['a', 'b', 'comma']);
  expect(await select([filter('path', 'neq', '/a', '/b')])).toEqual(['c', 'comma']);
  expect(await select([filter('path', 'c', 'a', 'c')])).toEqual(['a', 'c', 'comma']);
  expect(await select([filter('path', 'dnc', 'a', 'c')])).toEqual(['b']);
  expect(await select([filter('path', 're', '^/a$', '^/c$')])).toEqual(['a', 'c']);
  expect(await select([filter('path', 'nre', '^/a$', '^/c$')])).toEqual(['b', 'comma']);
});

test('contains has no wildcards and does not mind letter case, also beyond ASCII', async () => {
  const { select } = await tagged({
    percent: { pageTitle: '100% Ärger' },
    under: { pageTitle: 'a_b\\' },
    plain: { pageTitle: 'x' },
  });
  expect(await select([filter('title', 'c', '%')])).toEqual(['percent']);
  expect(await select([filter('title', 'c', '_')])).toEqual(['under']);
  expect(await select([filter('title', 'c', '\\')])).toEqual(['under']);
  expect(await select([filter('title', 'c', 'äRGER')])).toEqual(['percent']);
  expect(await select([filter('title', 'dnc', '%')])).toEqual(['plain', 'under']);
});

test('expressions are RE2, without letter case; one that cannot be compiled is an error of its own kind, also without events', async () => {
  const { site, select } = await tagged({
    one: { urlPath: '/Blog/One' },
    two: { urlPath: '/blog/two' },
    arger: { pageTitle: 'Ärger' },
  });
  expect(await select([filter('path', 're', '^/blog/(one|two)$')])).toEqual(['one', 'two']);
  expect(await select([filter('path', 're', 'one|two')])).toEqual(['one', 'two']);
  expect(await select([filter('title', 're', '^ä.ger$')])).toEqual(['arger']);
  expect(await select([filter('path', 're', '^(([a-z/])+.)+[A-Z]([a-z])+$')])).toEqual(['one', 'two']);
  const empty = createTestSite(warehouse);
  for (const expression of ['(', '[z-a]', 'a{1001}', '(?=x)', '\\1'])
    for (const question of [site.ask(), empty.ask()])
      await expect(
        warehouse.getStats({ ...question, filters: [filter('path', 're', expression)] }),
        expression,
      ).rejects.toMatchObject({ kind: 'invalid-expression' });
});

test('a referrer is a domain, or a domain and a path, where the root may be stored as nothing', async () => {
  const { select } = await tagged({
    x: { referrerDomain: 'ref.example', referrerPath: '/x', referrerQuery: 'y=1' },
    root: { referrerDomain: 'ref.example', referrerPath: '/' },
    bare: { referrerDomain: 'ref.example', referrerPath: '' },
    unicode: { referrerDomain: 'ref.example', referrerPath: '/%E9/café' },
    own: { referrerDomain: '', referrerPath: '/x' },
    other: { referrerDomain: 'other.example', referrerPath: '/x' },
    none: {},
  });
  expect(await select([is('referrer', 'ref.example')])).toEqual(['bare', 'root', 'unicode', 'x']);
  expect(await select([is('referrer', 'ref.example/x')])).toEqual(['x']);
  expect(await select([is('referrer', 'ref.example/')])).toEqual(['bare', 'root']);
  expect(await select([is('referrer', 'ref.example/%E9/café')])).toEqual(['unicode']);
  expect(await select([is('referrer', 'ref.example/other', 'other.example', 'ref.example/x')])).toEqual(['other', 'x']);
  expect(await select([filter('referrer', 'neq', 'ref.example/x', 'other.example')])).toEqual([
    ...['bare', 'none', 'own', 'root', 'unicode'],
  ]);
  expect(await select([is('referrer')])).toEqual([]);
});

test('thousands of alternatives are alternatives like two, with every operator', async () => {
  const { select } = await tagged({
    first: { urlPath: '/Blog', referrerDomain: 'd0.de', referrerPath: '/', language: 'de-AT', city: 'Łódź' },
    last: { urlPath: '/Ärger', referrerDomain: 'last.de', referrerPath: '/x', language: 'pl', city: 'London' },
    other: { urlPath: '/other', referrerDomain: 'other.de', language: 'd', city: '' },
  });
  const many = (count: number, item: (i: number) => string) => Array.from({ length: count }, (_, i) => item(i));
  const found = async (...comparison: Parameters<typeof filter>) => [
    await select([filter(...comparison)]),
    await select([
      filter(
        comparison[0],
        comparison[1] === 'eq' ? 'neq' : comparison[1] === 'c' ? 'dnc' : 'nre',
        ...comparison.slice(2),
      ),
    ]),
  ];
  const both = [['first', 'last'], ['other']];
  expect(await found('referrer', 'eq', ...many(3_000, (i) => `d${i}.de`), 'last.de/x')).toEqual(both);
  expect(await found('referrer', 'eq', 'd0.de', ...many(3_000, (i) => `d${i}.de/x`), 'last.de/x')).toEqual(both);
  expect(await found('language', 'eq', 'de', ...many(3_000, (i) => `x-${i}`), 'PL')).toEqual(both);
  expect(await found('city', 'eq', 'ŁÓDŹ', ...many(3_000, (i) => `x ${i}`), 'london')).toEqual(both);
  expect(await found('path', 'eq', '/Blog', ...many(3_000, (i) => `/${'x'.repeat(100)}${i}`), '/Ärger')).toEqual(both);
  expect(await found('path', 'c', 'BLOG', ...many(300, (i) => `\\'%${i}`), 'ärg')).toEqual(both);
  expect(await found('path', 're', '^/bl.g$', ...many(300, (i) => `(?P<n>x)${i}`), '^/ä')).toEqual(both);
});

test('every filter looks its alternatives up in a set, so that a thousand cost a row no more than one', async () => {
  const values = Array.from({ length: 1_000 }, (_, i) => (i % 2 ? `x${i}` : `x-${i}`)); // languages of one part and of two
  for (const [name] of fields) {
    const { sql, params } = buildQuery((bind) => filterCondition(is(name, ...values), bind));
    const query = `EXPLAIN actions = 1, pretty = 0 SELECT 1 FROM events WHERE ${sql}`;
    const plan = await (await client.query({ query, query_params: { ...params }, format: 'TabSeparated' })).text();
    expect(plan, name).toContain('__set_');
    expect(plan, name).not.toContain('x-500');
  }
});

test('what is written in capitals is found in small letters, and the other way round, in every European alphabet', async () => {
  const letters = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => String.fromCodePoint(from + i)).join('');
  const words = [letters(0x21, 0x250), letters(0x370, 0x590), letters(0x1e00, 0x2000), 'İSTANBUL', 'ΟΔΟΣ', 'Straẞe'];
  // A search of ClickHouse may be right in the last text of a block alone.
  const after = { city: 'x'.repeat(1_000), pageTitle: 'x'.repeat(1_000) };
  const { select } = await tagged({
    ...Object.fromEntries(words.map((word, i) => [i, { city: word, pageTitle: `On ${word} and on` }])),
    ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`after ${i}`, after])),
  });
  for (const [i, word] of words.entries())
    for (const value of [word, word.toLowerCase()]) {
      expect(await select([is('city', value)]), value).toEqual([`${i}`]);
      expect(await select([filter('title', 'c', value)]), value).toEqual([`${i}`]);
    }
  const greek = await tagged({ capital: { city: 'ΟΔΟΣ' }, small: { city: 'οδος' }, middle: { city: 'οδοσ' } });
  for (const value of ['ΟΔΟΣ', 'οδος', 'οδοσ'])
    for (const op of ['eq', 'c', 're'] as const)
      expect(await greek.select([filter('city', op, value)]), op).toEqual(['capital', 'middle', 'small']);
  const small = await tagged({ a: { city: 'århus' } });
  expect(await small.select([is('city', 'ÅRHUS')])).toEqual(['a']);
});

test('every letter is found by its capital and by its small letter, among other texts', async () => {
  const alphabets = [
    'abcdefghijklmnopqrstuvwxyzàéîõüæœłđşžőů',
    'αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ',
    'абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґўђљњќџ',
  ];
  const letters = alphabets.flatMap((alphabet) => [...alphabet]);
  const { select } = await tagged({
    ...Object.fromEntries(letters.map((letter) => [letter, { pageTitle: `1 ${letter}2 and more behind it` }])),
    ...Object.fromEntries(
      letters.map((letter) => [`${letter}+`, { pageTitle: `1 ${letter.toUpperCase()}2 and more` }]),
    ),
  });
  for (const letter of letters) {
    const found = letters.filter((other) => other.toUpperCase() === letter.toUpperCase());
    const expected = found.flatMap((one) => [one, `${one}+`]).sort();
    for (const text of [`1 ${letter}2`, `1 ${letter.toUpperCase()}2`])
      expect(await select([filter('title', 'c', text)]), text).toEqual(expected);
  }
});

test('one invalid expression among alternatives is an error, wherever it stands, also without events', async () => {
  const { site } = await tagged({ one: {} });
  for (const question of [site.ask(), createTestSite(warehouse).ask()])
    for (const values of [
      ['/', '('],
      ['(', '/'],
      ['/)', '(/', 'x'],
    ])
      for (const op of ['re', 'nre'] as const)
        await expect(
          warehouse.getStats({ ...question, filters: [filter('path', op, ...values)] }),
          `${op} ${values}`,
        ).rejects.toMatchObject({ kind: 'invalid-expression' });
});

test('a hundred filters of one question take a parameter or two each, however often its SQL has them', async () => {
  const { select } = await tagged({ a: { language: 'de', urlPath: '/a' } });
  const filters = Array.from({ length: 150 }, (_, i) => filter('language', 'neq', `x${i}`, 'y'));
  expect(await select(filters)).toEqual(['a']);
  const { params } = buildQuery((bind) => [...filters, ...filters].map((one) => filterCondition(one, bind)).join());
  expect(Object.keys(params)).toHaveLength(150);
});

test('a language is itself and its regions, a laptop is a desktop', async () => {
  const { select } = await tagged({
    british: { language: 'en-GB', device: 'desktop' },
    american: { language: 'en_US', device: 'mobile' },
    plain: { language: 'en', device: 'tablet' },
    english: { language: 'eng', device: '' },
    traditional: { language: 'zh_Hant-TW', device: 'mobile' },
  });
  expect(await select([is('language', 'EN')])).toEqual(['american', 'british', 'plain']);
  expect(await select([is('language', 'en-gb')])).toEqual(['british']);
  expect(await select([is('language', 'en-US')])).toEqual(['american']);
  expect(await select([filter('language', 'neq', 'en')])).toEqual(['english', 'traditional']);
  for (const tag of ['ZH', 'zh-hant', 'zh-Hant_tw'])
    expect(await select([is('language', tag)])).toEqual(['traditional']);
  for (const tag of ['zh-h', 'zh-Hant-TW-x', 'zh-', 'hant']) expect(await select([is('language', tag)])).toEqual([]);
  expect(await select([is('language', 'en-us', 'zh-Hant-TW', 'ENG')])).toEqual(['american', 'english', 'traditional']);
  expect(await select([is('device', 'Laptop')])).toEqual(['british']);
  expect(await select([filter('device', 'neq', 'laptop')])).toEqual(['american', 'english', 'plain', 'traditional']);
});

test('all filters must hold, or any of them; eventType, range and excludeBounce hold beside them', async () => {
  const { select, site } = await tagged({
    a: { urlPath: '/a', pageTitle: 'A' },
    b: { urlPath: '/b', pageTitle: 'B' },
    c: { urlPath: '/c', pageTitle: 'C', t: '12:00' },
    custom: { urlPath: '/a', eventType: 2, eventName: 'x' },
  });
  const [isA, titleB, titleC] = [is('path', '/a'), is('title', 'B'), is('title', 'C')];
  expect(await select([isA, is('title', 'A')])).toEqual(['a']);
  expect(await select([isA, titleB])).toEqual([]);
  expect(await select([isA, titleB], { match: 'any' })).toEqual(['a', 'b', 'custom']);
  expect(await select([isA, titleB], { match: 'any', eventType: 2 })).toEqual(['custom']);
  expect(await select([isA, titleB], { match: 'any', excludeBounce: true })).toEqual(['custom']);
  const late = { startAt: new Date('2026-06-10T11:00:00Z'), endAt: site.ask().range.endAt };
  expect(await select([isA, titleC], { match: 'any', range: late })).toEqual(['c']);
  expect(await select([], { match: 'any' })).toEqual(['a', 'b', 'c', 'custom']);
  for (const name of ['path', 'language', 'city'] as const) expect(await select([is(name)])).toEqual([]);
});

test('whatever text a value is, it is only a value', async () => {
  const { select } = await tagged({ plain: {} });
  const evil = [
    "' OR '1'='1",
    "\\' OR 1=1 --",
    '{p0:String}',
    '\\',
    '%',
    '`',
    '\\x27',
    '\0',
    '\uD800',
    '\\N',
    'x'.repeat(6000),
    '$1',
    '?',
  ];
  for (const value of evil) {
    expect(await select([is('path', value)]), value).toEqual([]);
    expect(await select([is('city', value)]), value).toEqual([]);
    expect(await select([filter('title', 'c', value)]), value).toEqual([]);
  }
});

test('of the comparisons of one condition any may hold, also beside other conditions and with match=any', async () => {
  const { select } = await tagged({
    a: { urlPath: '/a', browser: 'Chrome' },
    blog: { urlPath: '/blog', browser: 'Chrome' },
    c: { urlPath: '/c', browser: 'Firefox' },
  });
  const either = { anyOf: [is('path', '/a'), filter('path', 'c', 'blog')] };
  expect(await select([either])).toEqual(['a', 'blog']);
  expect(await select([either, filter('path', 'neq', '/a')])).toEqual(['blog']);
  expect(await select([either, is('browser', 'firefox')], { match: 'any' })).toEqual(['a', 'blog', 'c']);
  expect(await select([{ anyOf: [filter('path', 'neq', '/a'), is('path', '/a')] }])).toEqual(['a', 'blog', 'c']);
});

test('a value with NUL matches nothing, and everything where it is denied', async () => {
  const { select } = await tagged({ a: { urlPath: '/a' }, empty: { urlPath: '' } });
  for (const value of ['\0', '/a\0', '\0/a']) {
    for (const op of ['eq', 'c', 're'] as const) expect(await select([filter('path', op, value)]), op).toEqual([]);
    for (const op of ['neq', 'dnc', 'nre'] as const)
      expect(await select([filter('path', op, value)]), op).toEqual(['a', 'empty']);
  }
});
