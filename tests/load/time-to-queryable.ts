import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, logIn, request } from '../api-client.ts';
import { closedLoad } from './closed-load.ts';
import { type LoadContext, sendConnections } from './load-context.ts';
import { owner } from './load-stores.ts';
import { openLoad, percentile } from './open-load.ts';
import type { Row } from './report.ts';
import { sendTraffic } from './traffic.ts';
import { commonUserAgents } from './user-agents.ts';
import { createVisitors } from './visitors.ts';

const maximumSeconds = 3;
const measuredSeconds = 15;
const openConnections = 64;
const markEveryMs = 50;
const askEveryMs = 20;
const goal = { atLeast: 2, aim: 1, unit: ' s', lowerIsBetter: true };

/**
 * Time from the 200 of an event to the first answer of the API that shows it, while collector, worker and query process
 * work at half of what the collector takes at most. The marked events belong to a website of their own, whose event log
 * is asked again and again.
 */
export async function measureTimeToQueryable({ stores, services, ingest }: LoadContext): Promise<Row[]> {
  await stores.emptyLog();
  await stores.emptyWarehouse();
  const [worker, query] = [await services.start('worker'), await services.start('query')];
  const api = await logIn(`http://127.0.0.1:${query.port}/api`, owner.username, owner.password);
  const website = await api.ok<{ id: string }>('POST', '/websites', { name: 'marks', domain: 'marks.example' });

  const nextVisitor = createVisitors(sendTraffic(stores.websites, 20_000));
  const load = { nextVisitor, connections: sendConnections };
  const maximum = await closedLoad({ ...load, targets: [ingest], seconds: maximumSeconds });
  const perSecond = maximum.requests / maximum.seconds / 2;
  const marks = watchMarks(api, website.id, ingest.port);
  await openLoad({ target: ingest, nextVisitor, connections: openConnections, perSecond, seconds: measuredSeconds });
  const seconds = await marks.end();
  await services.end(query, worker);
  await stores.emptyLog();

  return [
    {
      what: 'time from 200 to queryable, p95, at half of the maximum rate',
      goal,
      value: percentile(seconds, 0.95),
      note:
        `p50 ${percentile(seconds, 0.5).toFixed(2)} s, slowest ${percentile(seconds, 1).toFixed(2)} s; ` +
        `${seconds.length} marked events among ${Math.round(perSecond)}/s; FLUSH_MAX_WAIT_MS as by default`,
    },
  ];
}

/**
 * Sends marked events and asks for them until `end`, which waits for the last of them and gives all times, in seconds,
 * ascending.
 */
function watchMarks(api: Api, websiteId: string, ingestPort: number) {
  const takenAtMs = new Map<string, number>();
  const seconds: number[] = [];
  const sinceMs = Date.now();
  let isEnding = false;

  async function sendMarks(): Promise<void> {
    while (!isEnding) {
      const url = `/${randomUUID()}`;
      const { status } = await request('POST', `http://127.0.0.1:${ingestPort}/api/send`, {
        headers: { 'user-agent': commonUserAgents[0] ?? '' },
        body: { type: 'event', payload: { website: websiteId, url } },
      });
      if (status === 200) takenAtMs.set(url, performance.now());
      await delay(markEveryMs);
    }
  }

  async function ask(): Promise<void> {
    while (!isEnding || takenAtMs.size > 0) {
      const { data } = await api.get<{ data: { urlPath: string }[] }>(`/websites/${websiteId}/events`, {
        startAt: sinceMs,
        endAt: Date.now() + 60_000,
        pageSize: 200,
      });
      const nowMs = performance.now();
      for (const { urlPath } of data) {
        const takenMs = takenAtMs.get(urlPath);
        if (takenMs === undefined) continue;
        seconds.push((nowMs - takenMs) / 1_000);
        takenAtMs.delete(urlPath);
      }
      await delay(askEveryMs);
    }
  }

  const both = Promise.all([sendMarks(), ask()]);
  return {
    async end(): Promise<Float64Array> {
      isEnding = true;
      await both;
      return Float64Array.from(seconds).sort();
    },
  };
}
