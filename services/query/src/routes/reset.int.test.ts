import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

test('after a reset no answer counts what was collected before it, though no worker has removed it yet', async () => {
  const now = Date.now();
  const site = await api.siteWith([{ t: now - 60_000, urlPath: '/before' }]);
  const range = { startAt: now - 3_600_000, endAt: now + 3_600_000 };
  const numbers = async () => {
    const stats = await site.ask('/stats', range);
    const { pageviews } = await site.ask('/pageviews', range);
    const { count } = await site.ask('/events', range);
    const { visitors } = await site.ask('/active');
    const paths = await site.ask('/metrics', { ...range, type: 'path' });
    return [
      stats.pageviews,
      pageviews.reduce((sum: number, point: { y: number }) => sum + point.y, 0),
      count,
      visitors,
      paths,
    ];
  };
  expect(await numbers()).toEqual([1, 1, 1, 1, [{ x: '/before', y: 1 }]]);

  await api.ok('POST', `/websites/${site.id}/reset`, { token: api.token });
  expect(await numbers()).toEqual([0, 0, 0, 0, []]);
  // A later backfill of older times counts.
  await site.insert([{ t: now - 120_000, collectedAt: Date.now() + 1_000, urlPath: '/backfilled' }]);
  expect(await numbers()).toEqual([1, 1, 1, 1, [{ x: '/backfilled', y: 1 }]]);
});
