import { afterAll, beforeAll, expect, test } from 'vitest';
import { chrome } from '../api-client.ts';
import { accepted, loggedEvents, post, statsOf } from '../collector.ts';
import { type Member, type System, startSystem } from './system.ts';

const skewMs = 600_000;

/** A process with this in its environment has a clock that is wrong by so much. */
const wrongClock = (byMs: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const RightDate = Date;
    globalThis.Date = class extends RightDate {
      constructor(...args) { if (args.length > 0) super(...args); else super(RightDate.now() + ${byMs}); }
      static now() { return RightDate.now() + ${byMs}; }
    };`)}`,
});

let system: System;
let right: Member;
let wrong: Member;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2 } });
  const [first, second] = system.members.ingest;
  if (!first || !second) throw new Error('no collectors');
  [right, wrong] = [first, second];
}, 120_000);
afterAll(() => system.stop());

const send = async (to: Member, payload: object, cache?: string) =>
  accepted(
    await post(
      `http://127.0.0.1:${to.port}/api/send`,
      {
        'content-type': 'application/json',
        'user-agent': chrome,
        ...(cache !== undefined && { 'x-umami-cache': cache }),
      },
      { type: 'event', payload },
    ),
  );

test.each([
  ['ahead', skewMs],
  ['behind', -skewMs],
])(
  'a collector whose clock is ten minutes %s takes turns with another: one visit, every event at its collector’s time, no number is negative',
  async (_, byMs) => {
    await wrong.end('SIGTERM');
    await wrong.start(wrongClock(byMs));
    const website = await system.newWebsite();
    const startedAt = Date.now();
    const visits = new Set<string>();
    let cache: string | undefined;
    for (let n = 0; n < 6; n++) {
      const answer = await send(n % 2 === 0 ? right : wrong, { website, url: `/${n}` }, cache);
      visits.add(answer.visitId);
      cache = answer.cache;
    }
    const endedAt = Date.now();
    expect(visits.size).toBe(1);

    const events = await loggedEvents(system.api, website, 6);
    for (const { urlPath, createdAt } of events) {
      const offMs = Number(urlPath.slice(1)) % 2 === 0 ? 0 : byMs;
      expect(Date.parse(createdAt) - offMs).toBeGreaterThanOrEqual(startedAt);
      expect(Date.parse(createdAt) - offMs).toBeLessThanOrEqual(endedAt);
    }
    const [evens, odds] = [
      ['/0', '/2', '/4'],
      ['/1', '/3', '/5'],
    ];
    expect(events.map(({ urlPath }) => urlPath)).toEqual(byMs > 0 ? [evens, odds].flat() : [odds, evens].flat());

    const stats = await statsOf(system.api, website);
    expect(stats).toMatchObject({ pageviews: 6, visits: 1, visitors: 1, bounces: 0 });
    const times = events.map(({ createdAt }) => Date.parse(createdAt));
    expect(stats.totaltime).toBe(Math.floor((Math.max(...times) - Math.min(...times)) / 1_000));
    const series = await system.api.get<{ pageviews: { y: number }[] }>(`/websites/${website}/pageviews`, {
      startAt: startedAt - 2 * skewMs,
      endAt: endedAt + 2 * skewMs,
      unit: 'minute',
    });
    expect(series.pageviews.reduce((sum, { y }) => sum + y, 0)).toBe(6);
    expect(await system.api.get(`/websites/${website}/active`)).toEqual({ visitors: 1 });
  },
  60_000,
);
