import { afterAll, beforeAll, expect, test } from 'vitest';
import { comparisonsMax } from '../statistics/parse-filters.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

type Site = Awaited<ReturnType<typeof api.siteWith>>;
type Filter = { name: string; operator: string; value: string };

const june = `range:${Date.parse('2026-06-01T00:00:00Z')}:${Date.parse('2026-06-30T23:59:59.999Z')}`;
const routes = [
  ...['/stats', '/pageviews', '/events', '/events?search=a'],
  ...['path', 'entry', 'channel', 'country', 'event'].map((type) => `/metrics?type=${type}&search=a`),
  ...['path', 'exit', 'channel', 'city'].map((type) => `/metrics/expanded?type=${type}`),
];

const list = <Item>(count: number, item: (i: number) => Item) => Array.from({ length: count }, (_, i) => item(i));

const save = (site: Site, type: 'segment' | 'cohort', filters: Filter[]) => {
  const parameters = { filters, ...(type === 'cohort' && { dateRange: june, action: { type: 'path', value: '/a' } }) };
  return api.call('POST', `/websites/${site.id}/segments`, { token: api.token, body: { type, name: 'x', parameters } });
};

/** Two visitors, of whom the first one came from the last one of 1,200 domains. */
const twoVisitors = () =>
  api.siteWith([
    { t: '10:00', session: 'a', urlPath: '/a', referrerDomain: 'd1199.de', language: 'de', country: 'DE' },
    { t: '10:00', session: 'b', urlPath: '/b', referrerDomain: 'other.de', language: 'en', country: 'GB' },
  ]);

test('a filter takes as many alternatives as an address holds', async () => {
  const site = await twoVisitors();
  const domains = list(1_200, (i) => `d${i}.de`).join(',');
  expect(await site.ask('/stats', { referrer: domains })).toMatchObject({ visits: 1 });
  expect(await site.ask('/stats', { referrer: `neq.${domains}` })).toMatchObject({ visits: 1 });
  expect(await site.ask('/stats', { path: list(1_200, () => 'c./A') })).toMatchObject({ visits: 1 });
  const paths = list(comparisonsMax, (i) => `/${'abcdefghij'.repeat(1 + (i % 3))}${i}`);
  expect(await site.ask('/stats', { path: ['re.^/b$', ...paths.slice(1).map((path) => `re.${path}`)] })).toMatchObject({
    visits: 1,
  });
  expect(await site.ask('/stats', { path: [...paths.slice(1), '/a'].map((path) => `dnc.${path}`) })).toMatchObject({
    visits: 1,
  });
}, 60_000);

test('a segment that excludes a thousand domains is one that can be asked', async () => {
  const site = await twoVisitors();
  const filters = list(14, (i) => list(86, (j) => `d${86 * i + j}.de`).join(',')).map((value) => ({
    name: 'referrer',
    operator: 'neq',
    value,
  }));
  const { status, json } = await save(site, 'segment', filters);
  expect(status).toBe(200);
  expect(await site.ask('/stats', { segment: json.id })).toMatchObject({ visits: 1 });
});

test.each([
  // The longest SQL, and the most parameters.
  ['language', (i: number) => `x${i},x-${i},x-x-${i},x-x-x-${i}`],
  ['referrer', (i: number) => `x${i}.de,https://y${i}.de/x`],
])(
  'the most comparisons that a question takes, by %s, are answered on every route, beside the biggest segment and cohort',
  async (name, value) => {
    const site = await twoVisitors();
    const filtersFrom = (first: number) => list(50, (i) => ({ name, operator: 'neq', value: value(first + i) }));
    const segment = await save(site, 'segment', filtersFrom(1_000));
    const cohort = await save(site, 'cohort', filtersFrom(2_000));
    const own = list(comparisonsMax - 1, (i) => [`${name}${i}`, `neq.${value(i)}`]);
    // A condition on the path makes some questions look for fitting events first, which writes all conditions twice.
    const query = { ...Object.fromEntries(own), path: 'c./a', startDate: '2026-06-10T09:59', segment: segment.json.id };
    for (const route of routes)
      for (const more of [{}, { excludeBounce: '1', cohort: cohort.json.id }]) {
        const [path = '', params] = route.split('?');
        const asked = { ...query, ...Object.fromEntries(new URLSearchParams(params)), ...more };
        const { status, text } = await site.get(path, asked);
        expect(status, `${route} ${Object.keys(more)} ${text.slice(0, 200)}`).toBe(200);
      }
  },
  120_000,
);

test('one comparison more is 400 that names its filter, whatever the operator; a list of values is one', async () => {
  const site = await twoVisitors();
  const refused = async (query: Record<string, string | string[]>) => {
    const { status, json } = await site.get('/stats', query);
    return [status, Object.keys(json.error.properties)];
  };
  const keys = list(1_000, (i) => `path${i}`);
  const many = Object.fromEntries(keys.map((key) => [key, 'neq.x']));
  expect(await refused({ ...many, match: 'any' })).toEqual([400, [`path${comparisonsMax}`]]);
  for (const operator of ['c', 'dnc', 're', 'nre']) {
    const values = list(comparisonsMax + 1, (i) => `${operator}.${i}`);
    expect(await refused({ title: 'x', path: values })).toEqual([400, ['path']]);
    expect((await site.get('/stats', { path: values.slice(1) })).status).toBe(200);
  }
});
