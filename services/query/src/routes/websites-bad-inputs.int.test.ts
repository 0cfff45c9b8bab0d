import { randomUUID } from 'node:crypto';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';
import { websiteCalls } from '../website-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
let token: string;
let adminToken: string;
let teamId: string;
let userId: string;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  ({ token, id: userId } = await api.newAccount());
  ({ token: adminToken } = await api.newAccount('admin'));
  teamId = await api.fixtures.newTeam([[{ id: userId }, 'team-owner']]);
});
afterAll(() => api.close());

const { create, newWebsite, update, read } = websiteCalls(() => ({ api, token }));
/** What no answer may tell: SQL, tables, columns, libraries, paths, stacks. */
const inside =
  /select |insert |where |constraint|relation|column|pg_|drizzle|postgres|node_modules|\/src\/|\bat .+:\d+/i;

const huge = 'x'.repeat(10_000);
const wrongTypes = [5, true, {}, [], ['x']];
/** Values that a field refuses, when a website is made and, but for those marked, when it is changed. */
const refused: [field: string, values: unknown[], only?: 'create' | 'update'][] = [
  ['name', ['', null, huge, '\0', 'x'.repeat(101), ...wrongTypes]],
  ['domain', ['', null, 'a b', '-a.example', 'a.example/path', `${'x'.repeat(500)}.example`, '\0', ...wrongTypes]],
  ['shareId', ['../x', 'x'.repeat(51), 'x'.repeat(500), 'ä', ' ', ...wrongTypes]],
  ['id', ['x', '', '00000000-0000-0000-0000-000000000000', `${randomUUID()}x`, "' OR 1=1", ...wrongTypes], 'create'],
  ['teamId', wrongTypes, 'create'],
  ['replayConfig', [[], 'x', 5, { sampleRate: -0.1 }], 'update'],
  ...(
    [
      ['sampleRate', [-0.1, 1.1, '0.5', null, '__NaN__']],
      ['heatmapSampleRate', [-0.1, 1.1, '0.5', null]],
      ['maskLevel', ['STRICT', 'x', '', null, 1]],
      ['maxDuration', [-1, 1e12, '60', null]],
      ['blockSelector', ['x'.repeat(100_000), null, 5]],
      ['replayEnabled', ['true', 1, null]],
      ['heatmapEnabled', ['true', 0, null]],
    ] as const
  ).map(([field, values]): [string, unknown[], 'update'] => [
    'replayConfig',
    values.map((value) => ({ [field]: value })),
    'update',
  ]),
];

describe.each(refused)('%s', (field, values, only) => {
  const fieldOf = (answer: { json: { error: { properties: object } } }) =>
    Object.keys(answer.json.error.properties).map((name) => name.split('.')[0]);

  test('is named by a 400 when a website is made, which makes none', async () => {
    const before = (await api.ok('GET', '/websites', { token })).count;
    for (const value of only === 'update' ? [] : values) {
      const answer = await create({ [field]: value });
      expect([answer.status, ...fieldOf(answer)], JSON.stringify(value)?.slice(0, 80)).toEqual([400, field]);
      expect(answer.text).not.toMatch(inside);
    }
    expect((await api.ok('GET', '/websites', { token })).count).toBe(before);
  });

  test('is named by a 400 when a website is changed, which changes nothing of it', async () => {
    const website = await newWebsite();
    for (const value of only === 'create' ? [] : values) {
      const answer = await update(website.id, { name: 'changed', domain: 'changed.example', [field]: value });
      expect([answer.status, ...fieldOf(answer)], JSON.stringify(value)?.slice(0, 80)).toEqual([400, field]);
      expect(answer.text).not.toMatch(inside);
    }
    expect(await read(website.id)).toEqual(website);
  });
});

test('what looks dangerous and is not is kept as it is', async () => {
  for (const name of [
    '=1+1',
    '<script>alert(1)</script>',
    "'; DROP TABLE website; --",
    '{{7*7}}',
    '\u202Egnp.exe',
    ' ',
  ])
    expect((await newWebsite({ name })).name).toBe(name);
  for (const domain of ['localhost', 'bücher.example', '購物.例え', '192.0.2.7:8080'])
    expect((await newWebsite({ domain })).domain).toBe(domain);
  for (const shareId of [`${randomUUID().slice(0, 8)}_-Az09`, 'x'.repeat(50)])
    expect((await newWebsite({ shareId })).shareId).toBe(shareId);
});

test('a share id of one character is one; an empty one and null are none', async () => {
  const website = await newWebsite({ shareId: '7' });
  expect(website.shareId).toBe('7');
  for (const none of ['', null]) {
    expect((await update(website.id, { shareId: '7' })).json.shareId).toBe('7');
    expect((await update(website.id, { shareId: none })).json.shareId).toBeNull();
  }
  expect((await newWebsite({ shareId: '' })).shareId).toBeNull();
});

test('an empty update, and one of unknown fields, answers the website as it is', async () => {
  const website = await newWebsite();
  for (const body of [
    {},
    { unknown: 1, __proto__: { admin: true }, constructor: {} },
    JSON.parse('{"__proto__":{"name":"x"}}'),
  ]) {
    const { status, json } = await update(website.id, body);
    expect([status, json]).toEqual([200, { ...website, updatedAt: expect.any(String) }]);
  }
});

test('each part of replayConfig is kept while another one changes, and its limits are taken', async () => {
  const website = await newWebsite();
  const expected = { ...website.replayConfig };
  for (const change of [
    { sampleRate: 1 },
    { heatmapSampleRate: 0 },
    { maxDuration: 0 },
    { maxDuration: 86_400 },
    { maskLevel: 'moderate' },
    { blockSelector: '.a > [data-x="1"]' },
    { heatmapEnabled: true },
    {},
  ]) {
    Object.assign(expected, change);
    expect((await update(website.id, { replayConfig: change })).json.replayConfig).toEqual(expected);
  }
  expect((await update(website.id, { replayConfig: null })).json.replayConfig).toEqual(website.replayConfig);
});

test('a body that is no JSON object is 400, a form 415, more than 1 MB 413; none shows the inside', async () => {
  const website = await newWebsite();
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [raw, status, headers] of [
    ['{bad', 400, {}],
    ['', 400, {}],
    ['null', 400, {}],
    ['[]', 400, {}],
    ['"x"', 400, {}],
    ['['.repeat(100_000), 400, {}],
    ['name=x', 415, form],
    [JSON.stringify({ name: 'x'.repeat(1_000_001) }), 413, {}],
  ] as const)
    for (const path of [
      '/websites',
      `/websites/${website.id}`,
      `/websites/${website.id}/transfer`,
      '/teams',
      '/teams/join',
    ]) {
      const answer = await api.call('POST', path, { token, raw, headers });
      expect(answer.status, `${path} ${raw.slice(0, 20)}`).toBe(status);
      expect(answer.text).not.toMatch(inside);
    }
  expect(await read(website.id)).toEqual(website);
});

test('ids in the path: whatever is none is unknown, and letter case does not matter', async () => {
  const website = await newWebsite();
  expect(await read(website.id.toUpperCase())).toEqual(website);
  for (const id of [
    'W%00',
    "W'",
    '..%2f..%2f',
    '%F0%9F%98%80',
    'x'.repeat(5_000),
    `${website.id}%20`,
    `{${website.id}}`,
  ]) {
    expect(await read(id), id.slice(0, 20)).toBeNull();
    for (const method of ['POST', 'DELETE']) {
      const answer = await api.call(method, `/websites/${id}`, { token, ...(method === 'POST' && { body: {} }) });
      expect([answer.status, answer.json.error.message]).toEqual([404, 'Website not found']);
    }
  }
});

describe('every list', () => {
  const lists = () => [
    ...['/websites', '/me/websites', '/teams', '/me/teams', `/teams/${teamId}/users`, `/teams/${teamId}/websites`],
    ...['/admin/users', '/admin/teams', '/admin/websites', '/admin/audit'],
    ...[`/users/${userId}/websites`, `/users/${userId}/teams`],
  ];
  const list = (path: string, query: string) =>
    api.call('GET', `${path}?${query}`, { token: /admin|users\/.+\//.test(path) ? adminToken : token });

  test('refuses a page that is none with 400 that names it', async () => {
    for (const path of lists())
      for (const name of ['page', 'pageSize', 'maxResults'])
        for (const value of [
          '0',
          '-1',
          '-5',
          '1.5',
          'abc',
          'NaN',
          '1e3',
          '0x10',
          '10; DROP TABLE website',
          '９',
          '1'.repeat(16),
        ]) {
          const answer = await list(path, `${name}=${encodeURIComponent(value)}`);
          expect([answer.status, Object.keys(answer.json.error.properties)], `${path} ${name}=${value}`).toEqual([
            400,
            [name],
          ]);
          expect(answer.text).not.toMatch(inside);
        }
  });

  test('takes an empty value as none, the last of repeated ones, and no arrays; far pages are empty with the right count', async () => {
    for (const path of lists()) {
      const whole = (await list(path, '')).json;
      for (const query of [
        'page=',
        'pageSize=&maxResults=',
        'page=7&page=1',
        'page[]=7',
        'page%5B%5D=0',
        '__proto__[page]=0',
      ])
        expect((await list(path, query)).json, `${path} ${query}`).toMatchObject({ page: 1, pageSize: 20 });
      const far = (await list(path, 'page=1000000000&pageSize=1000000000')).json;
      expect(far, path).toMatchObject({ data: [], page: 1_000_000_000, pageSize: 1_000 });
      if (path !== '/admin/audit') expect(far.count).toBe(whole.count);
      const capped = (await list(path, 'maxResults=1&pageSize=1000000000')).json;
      expect([capped.count, capped.data.length], path).toEqual([Math.min(1, whole.count), Math.min(1, whole.count)]);
      expect((await list(path, 'maxResults=1&page=2&pageSize=1')).json.data).toEqual([]);
    }
  });

  test('of changes has a range that may end in any year, and is refused with 400 when it starts after its end', async () => {
    const audit = (query: string) => list('/admin/audit', `userId=${userId}&${query}`);
    const whole = (await audit('')).json;
    expect((await audit('startAt=0&endAt=999999999999999')).json).toEqual(whole);
    expect((await audit('startAt=253402300800000')).json).toMatchObject({ data: [], count: 0 });
    expect((await audit('startAt=5&endAt=5')).status).toBe(200);
    const { status, json } = await audit('startAt=6&endAt=5');
    expect([status, Object.keys(json.error.properties)]).toEqual([400, ['startAt']]);
  });

  test('refuses an order that it does not know, and a direction that is none', async () => {
    for (const path of lists().filter((one) => !/\/users$|audit$/.test(one)))
      for (const query of [
        ...[
          'name;DROP',
          'password',
          'user.username',
          'name,domain',
          'accessCode',
          '__proto__',
          'constructor',
          'Name',
        ].map((order) => `orderBy=${order}`),
        ...['yes', 'TRUE', '1', 'desc'].map((direction) => `sortDescending=${direction}`),
      ]) {
        const answer = await list(path, query);
        expect(answer.status, `${path} ${query}`).toBe(400);
        expect(answer.text).not.toMatch(inside);
      }
  });

  test('searches literally and in any letter case', async () => {
    const account = await api.newAccount();
    const marks = ['%', '_', '\\', "'", "a%' OR '1'='1", '😀', '"', '$1', '?', '--'];
    for (const mark of marks) {
      await newWebsite({ name: `before ${mark} After` }, account.token);
      await api.ok('POST', '/teams', { token: account.token, body: { name: `before ${mark} After` } });
    }
    const found = async (path: string, search: string) =>
      (await api.ok('GET', `${path}?search=${encodeURIComponent(search)}`, { token: account.token })).data.map(
        ({ name }: { name: string }) => name,
      );
    for (const path of ['/websites', '/teams']) {
      for (const mark of marks) {
        const fitting = marks.filter((one) => one.toLowerCase().includes(mark.toLowerCase()));
        const names = fitting.map((one) => `before ${one} After`).sort();
        expect((await found(path, mark)).sort(), `${path} ${mark}`).toEqual(names);
        expect(await found(path, ` ${mark} aFTER`), `${path} ${mark}`).toContain(`before ${mark} After`);
      }
      for (const nothing of [huge, '\u0130', 'before\\', '%before', '_efore'])
        expect(await found(path, nothing), nothing.slice(0, 10)).toEqual([]);
    }
  });
});
