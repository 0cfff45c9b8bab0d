import { randomUUID } from 'node:crypto';
import { SegmentList, SegmentRecord } from '@meridian/contract/segments';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

const alpha = { name: 'path', operator: 'eq', value: '/alpha' };
const segment = { type: 'segment', name: 'Alpha', parameters: { filters: [alpha], match: 'all' } };
const cohort = {
  type: 'cohort',
  name: 'Buyers',
  parameters: { filters: [], match: 'all', dateRange: '30day', action: { type: 'path', value: '/buy' } },
};

const calls = (websiteId: string, token = api.token) => ({
  create: (body: unknown) => api.call('POST', `/websites/${websiteId}/segments`, { token, body }),
  list: (query: string) => api.call('GET', `/websites/${websiteId}/segments?${query}`, { token }),
  read: (id: string) => api.call('GET', `/websites/${websiteId}/segments/${id}`, { token }),
  update: (id: string, body: unknown) => api.call('POST', `/websites/${websiteId}/segments/${id}`, { token, body }),
  remove: (id: string) => api.call('DELETE', `/websites/${websiteId}/segments/${id}`, { token }),
});

test('segments and cohorts are created, read, listed by type, changed and deleted', async () => {
  const { id: websiteId } = await api.siteWith();
  const site = calls(websiteId);
  const created = (await site.create(segment)).json;
  expect(SegmentRecord.parse(created)).toEqual(created);
  expect(created).toMatchObject({ websiteId, ...segment });
  const other = (await site.create(cohort)).json;
  expect((await site.read(created.id)).json).toEqual(created);
  const list = (await site.list('type=segment')).json;
  expect(SegmentList.parse(list)).toEqual(list);
  expect(list).toEqual({ data: [created], count: 1, page: 1, pageSize: 20, orderBy: 'name', search: '' });
  expect((await site.list('type=cohort&search=BUY')).json.data).toEqual([other]);
  expect((await site.list('type=cohort&search=alpha')).json.data).toEqual([]);

  const changed = (await site.update(created.id, { ...cohort, name: 'New' })).json;
  expect(changed).toMatchObject({ id: created.id, createdAt: created.createdAt, ...cohort, name: 'New' });
  expect((await site.remove(created.id)).json).toEqual({ ok: true });
  expect([(await site.read(created.id)).status, (await site.remove(created.id)).status]).toEqual([404, 404]);
});

test('what is left out has its default, unknown keys are ignored, NUL is removed', async () => {
  const site = calls((await api.siteWith()).id);
  const body = {
    type: 'segment',
    name: 'a\0',
    parameters: { filters: [{ name: 'url', x: 1 }] },
    websiteId: 'x',
    id: 'x',
  };
  const { json } = await site.create(body);
  expect(json).toMatchObject({
    name: 'a',
    parameters: { filters: [{ name: 'url', operator: 'eq', value: '' }], match: 'all' },
  });
});

test.each([
  ['type', { ...segment, type: 'other' }],
  ['name', { ...segment, name: '' }],
  ['name', { ...segment, name: 'x'.repeat(201) }],
  ['parameters', { type: 'segment', name: 'x' }],
  ['parameters.match', { ...segment, parameters: { match: 'none' } }],
  ['parameters.filters', { ...segment, parameters: { filters: Array(51).fill(alpha) } }],
  ['parameters.filters.0.name', { ...segment, parameters: { filters: [{ ...alpha, name: '__proto__' }] } }],
  ['parameters.filters.1.operator', { ...segment, parameters: { filters: [alpha, { ...alpha, operator: 'gt' }] } }],
  ['parameters.filters.0.value', { ...segment, parameters: { filters: [{ ...alpha, value: { $ne: 'x' } }] } }],
  [
    'parameters.filters.0.value',
    { ...segment, parameters: { filters: [{ ...alpha, operator: 're', value: 'a'.repeat(201) }] } },
  ],
  ['parameters', { ...segment, parameters: { filters: Array(11).fill({ ...alpha, value: 'x'.repeat(1_900) }) } }],
  ['parameters', { ...segment, parameters: { filters: [{ ...alpha, name: `path${'1'.repeat(20_000)}` }] } }],
  [
    'parameters',
    {
      ...cohort,
      parameters: { ...cohort.parameters, filters: Array(11).fill({ ...alpha, value: 'x'.repeat(1_900) }) },
    },
  ],
  ['parameters.dateRange', { ...cohort, parameters: { action: { type: 'path', value: '/' } } }],
  ['parameters.dateRange', { ...cohort, parameters: { ...cohort.parameters, dateRange: '5minute' } }],
  ['parameters.action', { ...cohort, parameters: { dateRange: 'all' } }],
  [
    'parameters.action.type',
    { ...cohort, parameters: { ...cohort.parameters, action: { type: 'title', value: 'x' } } },
  ],
  ['parameters.action.value', { ...cohort, parameters: { ...cohort.parameters, action: { type: 'path', value: '' } } }],
])('a wrong %s is 400 that names it, and changes nothing', async (field, body) => {
  const site = calls((await api.siteWith()).id);
  const { json: stored } = await site.create(segment);
  for (const answer of [await site.create(body), await site.update(stored.id, body)])
    expect([answer.status, Object.keys(answer.json.error.properties)]).toEqual([400, [field]]);
  expect((await site.list('type=segment')).json.data).toEqual([stored]);
});

test('a list without a type is 400 that names it', async () => {
  const { status, json } = await calls((await api.siteWith()).id).list('');
  expect([status, Object.keys(json.error.properties)]).toEqual([400, ['type']]);
});

test('who only reads the website reads them only; for strangers there is no website; ids of another website are unknown', async () => {
  const [owner, viewer] = [await api.newAccount(), await api.newAccount()];
  const teamId = await api.fixtures.newTeam([
    [owner, 'team-owner'],
    [viewer, 'team-view-only'],
  ]);
  const body = { name: 'Shop', domain: 'shop.example', teamId };
  const website = await api.ok('POST', '/websites', { token: owner.token, body });
  const { json: stored } = await calls(website.id, owner.token).create(segment);
  const statuses = async (websiteId: string, token: string) => {
    const site = calls(websiteId, token);
    return [
      (await site.list('type=segment')).status,
      (await site.read(stored.id)).status,
      (await site.create(segment)).status,
      (await site.update(stored.id, segment)).status,
      (await site.remove(stored.id)).status,
    ];
  };
  expect(await statuses(website.id, viewer.token)).toEqual([200, 200, 403, 403, 403]);
  expect(await statuses(website.id, api.token)).toEqual([404, 404, 404, 404, 404]);
  const own = await api.siteWith();
  expect(await statuses(own.id, api.token)).toEqual([200, 404, 200, 404, 404]);
  expect((await calls(website.id, owner.token).read(stored.id)).json).toEqual(stored);
  for (const id of ['not-a-uuid', randomUUID()])
    expect((await calls(website.id, owner.token).read(id)).status).toBe(404);
});
