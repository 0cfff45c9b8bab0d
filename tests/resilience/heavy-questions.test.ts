import { afterAll, beforeAll, expect, test } from 'vitest';
import { chrome, eventually, request } from '../api-client.ts';
import { loggedEvents, post, statsOf } from '../collector.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted } from './under-load.ts';

const paths = 1_000_000;
const pathsOfInsert = 200_000;
const dataKeys = 10_000;
const eventsOfVisit = 4;
const eventEveryMs = 2_000;
const start = Date.UTC(2026, 5, 1);
const visits = paths / eventsOfVisit;
/** What one question may hold in ClickHouse. */
const memoryMax = 4_000_000_000;

let system: System;
let giant: string;
beforeAll(async () => {
  system = await startSystem({ counts: { query: 2 } });
  giant = await system.newWebsite();
  for (let from = 0; from < paths; from += pathsOfInsert) await insertGiant(from);
}, 300_000);
afterAll(() => system.stop());

/** A part of a month of pageviews of which none has the path of another, with data of ten thousand names. */
async function insertGiant(from: number): Promise<void> {
  const hex = (number: string) => `leftPad(lower(hex(toUInt64(${number}))), 12, '0')`;
  const uuidV7 = (ms: string, low: string) =>
    `toUUID(concat(left(${hex(ms)}, 8), '-', right(${hex(ms)}, 4), '-7000-8000-', ${hex(low)}))`;
  const visit = `intDiv(number, ${eventsOfVisit})`;
  const createdAt = `${start} + number * ${eventEveryMs}`;
  const visitStart = `${start} + ${visit} * ${eventsOfVisit * eventEveryMs}`;
  await system.clickhouse(
    `INSERT INTO {db}.events (website_id, created_at, event_id, session_id, visit_id, event_type, url_path, data)
     SELECT '${giant}', fromUnixTimestamp64Milli(toInt64(${createdAt}), 'UTC'), ${uuidV7(createdAt, 'number')},
       ${uuidV7('0', visit)}, ${uuidV7(visitStart, visit)}, 1, concat('/p/', toString(number)),
       concat('{"key', toString(number % ${dataKeys}), '":1}')
     FROM numbers(${from}, ${pathsOfInsert})`,
  );
}

const month = `startAt=${start}&endAt=${start + 30 * 86_400_000}`;
const whole = {
  pageviews: paths,
  visitors: visits,
  visits,
  bounces: 0,
  totaltime: (visits * (eventsOfVisit - 1) * eventEveryMs) / 1_000,
};
/** One visitor on each path: ordered by path. */
const firstPaths = Array.from({ length: 10 }, (_, i) => `/p/${i === 0 ? 0 : i < 7 ? 10 ** (i - 1) : 100_000 + i - 6}`);
const pageviewsOf = (body: unknown) =>
  (body as { pageviews: { y: number }[] }).pageviews.reduce((sum, { y }) => sum + y, 0);

/** Questions about the giant, and what is right when they are answered. */
const heavy: [question: string, right: (body: unknown) => void][] = [
  [`stats?${month}`, (body) => expect(body).toEqual(whole)],
  [`stats?${month}&path=re.9$`, (body) => expect(body).toMatchObject({ pageviews: paths / 10, visits: paths / 10 })],
  [`stats?${month}&excludeBounce=1&compare=yoy`, (body) => expect(body).toMatchObject(whole)],
  [`pageviews?${month}&unit=hour`, (body) => expect(pageviewsOf(body)).toBe(paths)],
  [`metrics?${month}&type=path&limit=10`, (body) => expect(body).toEqual(firstPaths.map((x) => ({ x, y: 1 })))],
  [
    `metrics/expanded?${month}&type=path&limit=10`,
    (body) => expect(body).toMatchObject(firstPaths.map((name) => ({ name, pageviews: 1, visitors: 1, visits: 1 }))),
  ],
  [`metrics?${month}&type=entry&limit=1`, (body) => expect(body).toEqual([{ x: '/p/0', y: 1 }])],
  [
    `events?${month}&search=/p/99999&pageSize=20`,
    (body) => expect(body).toMatchObject({ count: 11, data: Array.from({ length: 11 }, () => ({ hasData: true })) }),
  ],
  [
    `events?${month}&page=900&pageSize=1000`,
    (body) => expect(body).toMatchObject({ count: paths, page: 900, isCapped: false }),
  ],
];

const urlOf = (question: string, process: number) =>
  `http://127.0.0.1:${system.members.query[process % 2]?.port}/api/websites/${giant}/${question}`;

/** Asks one of the two processes; gives the status. What is neither right nor refused fails. */
async function askHeavy(question: string, right: (body: unknown) => void, process: number): Promise<number> {
  const answer = await request('GET', urlOf(question, process), { headers: system.caller.headers });
  if (answer.status === 200) right(answer.body);
  else expect([answer.status, (answer.body as { error: { status: number } }).error.status]).toEqual([503, 503]);
  return answer.status;
}

/** Looks at what ClickHouse's questions hold until `work` has ended. */
async function watchMemory(work: Promise<unknown>): Promise<{ limits: Set<string>; mostBytes: number }> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  const limits = new Set<string>();
  let mostBytes = 0;
  while (!isOver) {
    const rows = await system.clickhouse(
      `SELECT peak_memory_usage, Settings['max_memory_usage'] FROM system.processes
       WHERE current_database = '{db}' AND Settings['log_comment'] LIKE '%${giant}'`,
    );
    for (const [bytes = '', limit = ''] of rows.map((row) => row.split('\t'))) {
      mostBytes = Math.max(mostBytes, Number(bytes));
      limits.add(limit);
    }
  }
  await ended;
  return { limits, mostBytes };
}

test(`a website with ${paths} paths: its questions are answered rightly or refused, within their memory, and a neighbour's are right meanwhile`, async () => {
  const neighbour = await system.newWebsite();
  const [sent] = await Promise.all(
    ['/a', '/b', '/a'].map((url) =>
      post(
        `http://127.0.0.1:${system.members.ingest[0]?.port}/api/send`,
        { 'user-agent': chrome, 'content-type': 'application/json' },
        { type: 'event', payload: { website: neighbour, url } },
      ),
    ),
  );
  expect(sent?.status).toBe(200);
  await loggedEvents(system.api, neighbour, 3);
  const statuses: Record<string, number> = {};
  const asked = (async () => {
    for (const [i, [question, right]] of heavy.entries()) {
      const [status] = await Promise.all([askHeavy(question, right, i), expectNeighbour(neighbour)]);
      statuses[question.replace(month, '')] = status;
    }
  })();
  const { limits, mostBytes } = await watchMemory(asked);
  console.log(`${JSON.stringify(statuses)}; at most ${Math.round(mostBytes / 1e6)} MB for one question`);
  expect([statuses['stats?'], statuses['pageviews?&unit=hour']]).toEqual([200, 200]);
  expect([...limits]).toEqual([String(memoryMax)]);
  expect(mostBytes).toBeLessThanOrEqual(memoryMax);
}, 120_000);

async function expectNeighbour(websiteId: string): Promise<void> {
  expect(await statsOf(system.api, websiteId)).toMatchObject({ pageviews: 3, visitors: 1, visits: 1 });
}

test('20 heavy questions at once beside collection: every event is accepted and stored once, and no answer is wrong', async () => {
  const { load, report } = await underLoad(system, async (running) => {
    const asked = Array.from({ length: 20 }, (_, i) => {
      const [question, right] = heavy[i % heavy.length] ?? [];
      if (question === undefined || right === undefined) throw new Error('no question');
      return askHeavy(question, right, i);
    });
    await untilAccepted(running, 300);
    console.log(`heavy questions were answered ${JSON.stringify(await Promise.all(asked))}`);
    const after = await eventually(
      () => request('GET', urlOf(`stats?${month}`, 0), { headers: system.caller.headers }),
      ({ status }) => status === 200,
    );
    expect(after.body).toEqual(whole);
  });
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
}, 180_000);

test('two years by the minute are refused before ClickHouse is asked', async () => {
  const question = 'pageviews?startDate=2024-06-01&endDate=2026-06-01&unit=minute';
  const answer = await request('GET', urlOf(question, 0), { headers: system.caller.headers });
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('the finest unit allowed is day')]);
});
