import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from '@meridian/runtime/http/server';
import type { Question } from '@meridian/warehouse/question';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createQueryListener } from '../create-query-listener.ts';
import { createQueryCounts } from '../query-counts.ts';
import type { QueryDeps } from '../query-env.ts';
import type { QuestionLimits } from '../statistics/question-turns.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

const june = 'startDate=2026-06-01&endDate=2026-06-30';

/**
 * A process whose questions about one website, lists of segments and links, and checks of expressions take until
 * `release`, and the most of the questions that ran at once.
 */
function createBusyProcess(websiteId: string, questionLimits?: QuestionLimits) {
  const seen = { running: 0, mostRunning: 0, checks: 0, lists: 0 };
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { warehouse, registry } = api.deps;
  async function getStats(question: Question) {
    if (question.websiteId !== websiteId) return warehouse.getStats(question);
    seen.mostRunning = Math.max(seen.mostRunning, ++seen.running);
    await released;
    return warehouse.getStats(question).finally(() => seen.running--);
  }
  const isValidExpression: typeof warehouse.isValidExpression = async (...asked) => {
    seen.checks++;
    await released;
    return warehouse.isValidExpression(...asked);
  };
  const slowly =
    <Query, Page>(list: (query: Query) => Promise<Page>) =>
    async (query: Query) => {
      seen.lists++;
      await released;
      return list(query);
    };
  const lists = { listSegments: slowly(registry.listSegments), listShares: slowly(registry.listShares) };
  const counts = createQueryCounts();
  const config = { ...api.deps.config, ...(questionLimits && { questionLimits }) };
  const app = createQueryApp({
    ...api.deps,
    config,
    counts,
    warehouse: { ...warehouse, getStats, isValidExpression },
    registry: { ...registry, ...lists },
  });
  const call = async (method: string, path: string, credential: string, body?: object) => {
    const headers = { authorization: `Bearer ${credential}` };
    const answer = await app.request(`/api${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
    return { status: answer.status, headers: answer.headers, json: JSON.parse(await answer.text()) };
  };
  const ask = (id: string, credential: string) => call('GET', `/websites/${id}/stats?${june}`, credential);
  return { counts, seen, release: () => release(), call, ask };
}

async function newKeys(token: string, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++)
    keys.push((await api.ok('POST', '/me/api-keys', { token, body: { name: 'ci' } })).key);
  return keys;
}

test.each([1, 50])(
  '200 heavy questions at once from %i keys: a few run, each is answered or clearly refused, and another caller is served meanwhile',
  async (keyCount) => {
    const site = await api.siteWith([{ t: '10:00' }, { t: '10:05' }]);
    const keys = await newKeys(api.token, keyCount);
    const other = await api.newAccount();
    const body = { name: 'Other', domain: 'other.example' };
    const { id: otherWebsite } = await api.ok('POST', '/websites', { token: other.token, body });
    const { seen, release, counts, ask } = createBusyProcess(site.id, { perCaller: 4, inAll: 8, waitMaxMs: 60_000 });

    const heavy = Array.from({ length: 200 }, (_, i) => ask(site.id, keys[i % keyCount] ?? ''));
    await expect.poll(() => counts.questionsWaiting).toBe(keyCount === 1 ? 46 : 196);
    expect(await ask(otherWebsite, other.token)).toMatchObject({ status: 200, json: { pageviews: 0 } });
    release();
    const answers = await Promise.all(heavy);
    expect(seen).toMatchObject({ running: 0, mostRunning: 4 });
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(keyCount === 1 ? 50 : 200);
    for (const { json } of served) expect(json).toMatchObject({ pageviews: 2, visits: 1 });
    for (const { status, headers } of answers.filter((answer) => !served.includes(answer)))
      expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true]);
  },
);

test('who does not get a turn in time is told 503 and when to come again', async () => {
  const site = await api.siteWith([{ t: '10:00' }]);
  const { seen, release, counts, ask } = createBusyProcess(site.id, { perCaller: 1, inAll: 1, waitMaxMs: 1 });
  const first = ask(site.id, api.token);
  await expect.poll(() => seen.running).toBe(1);
  const refused = await ask(site.id, api.token);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.json.error).toMatchObject({ code: 'service-unavailable', status: 503 });
  expect(counts.questionsRefused).toEqual({ waited: 1, too_many: 0 });
  release();
  expect(await first).toMatchObject({ status: 200, json: { pageviews: 1 } });
});

const oneAtATime: QuestionLimits = { perCaller: 1, inAll: 1, waitMaxMs: 60_000 };
const segmentWith = (filter: object) => ({ type: 'segment', name: 'x', parameters: { filters: [filter] } });

test('lists of segments and of links, which may be long, take turns among each other, and wait for no question', async () => {
  const site = await api.siteWith();
  const { seen, release, counts, call, ask } = createBusyProcess(site.id, oneAtATime);
  const first = ask(site.id, api.token);
  await expect.poll(() => seen.running).toBe(1);
  const lists = ['segments?type=segment', 'segments?type=cohort', 'shares'].map((list) =>
    call('GET', `/websites/${site.id}/${list}`, api.token),
  );
  await expect.poll(() => counts.questionsWaiting).toBe(2);
  expect(seen.lists).toBe(1);
  release();
  for (const { status } of await Promise.all([first, ...lists])) expect(status).toBe(200);
});

test('the check of a segment’s expressions is one turn; a segment without any waits for nobody', async () => {
  const site = await api.siteWith();
  const { seen, release, counts, call, ask } = createBusyProcess(site.id, oneAtATime);
  const first = ask(site.id, api.token);
  await expect.poll(() => seen.running).toBe(1);
  const create = (filter: object) => call('POST', `/websites/${site.id}/segments`, api.token, segmentWith(filter));
  expect((await create({ name: 'path', value: '/a' })).status).toBe(200);
  expect((await create({ name: 'path', operator: 're', value: '' })).status).toBe(200);
  const [valid, invalid] = ['a+', '('].map((value) => create({ name: 'path', operator: 're', value }));
  await expect.poll(() => counts.questionsWaiting).toBe(2);
  expect(seen.checks).toBe(0);
  release();
  const answers = await Promise.all([first, valid, invalid]);
  expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 400]);
});

test('which expression of a question is not valid is found out in its turn', async () => {
  const site = await api.siteWith();
  const { seen, release, counts, call, ask } = createBusyProcess(site.id, oneAtATime);
  const path = `/websites/${site.id}/metrics?type=path&path=re.(`;
  const first = call('GET', path, api.token);
  await expect.poll(() => seen.checks).toBe(1);
  const second = ask(site.id, api.token);
  await expect.poll(() => counts.questionsWaiting).toBe(1);
  release();
  expect([(await first).status, (await second).status]).toEqual([400, 200]);
});

test('a client that goes away while it waits leaves the line, and its question is never asked', async () => {
  const site = await api.siteWith();
  let asked = 0;
  const silent = createServer(() => asked++).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const warehouse = createWarehouse(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const counts = createQueryCounts();
  const config: QueryDeps['config'] = {
    ...api.deps.config,
    questionLimits: { perCaller: 1, inAll: 1, waitMaxMs: 60_000 },
  };
  const listener = createQueryListener({ ...api.deps, config, counts, warehouse });
  const server = await listen(listener, { port: 0, host: '127.0.0.1' });
  const ask = (signal: AbortSignal) =>
    fetch(`http://127.0.0.1:${server.port}/api/websites/${site.id}/stats`, {
      headers: { authorization: `Bearer ${api.token}` },
      signal,
    });

  const [running, waiting] = [new AbortController(), new AbortController()];
  const first = ask(running.signal);
  await expect.poll(() => asked).toBe(1);
  const second = ask(waiting.signal);
  await expect.poll(() => counts.questionsWaiting).toBe(1);
  waiting.abort();
  await expect(second).rejects.toThrow('aborted');
  await expect.poll(() => counts.questionsWaiting).toBe(0);
  running.abort();
  await expect(first).rejects.toThrow('aborted');
  const third = new AbortController();
  const answer = ask(third.signal);
  await expect.poll(() => asked).toBe(2); // the turn of the first one is free again
  third.abort();
  await expect(answer).rejects.toThrow('aborted');

  await server.close(1_000);
  await warehouse.close();
  silent.close();
});
