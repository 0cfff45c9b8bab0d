import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keptVisit } from './append-script.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import type { Placement } from './placement.ts';
import { mintText, pendingEvent } from './test-events.ts';
import { connectProducer, patience } from './test-redis.ts';
import { readUuids } from './uuid-bytes.ts';
import { createUuidV7Minter, uuidV7TimeMs } from './uuid-v7.ts';
import { visitsKey } from './visit-state.ts';

const partitions = 3;
const ids = createUuidV7Minter();
const minute = 60_000;
const day = Date.parse('2026-06-10T00:00:00Z');
/** The instant of 'HH:MM:SS' or 'HH:MM:SS.mmm' on the day of the tests. */
const at = (time: string): number => Date.parse(`2026-06-10T${time}Z`);

let database: Awaited<ReturnType<typeof createRedisDatabase>>;
let redis: Redis;
let clockMs = day;
let log: EventLog;

const newLog = (on: Redis): EventLog =>
  createEventLog({ redis: on, partitions, now: () => clockMs, appendMaxWaitMs: patience.appendMaxWaitMs });

beforeAll(async () => {
  database = await createRedisDatabase();
  redis = await connectProducer(database.url, patience.commandTimeout);
  log = newLog(redis);
});
afterAll(async () => {
  redis.disconnect();
  await database.drop();
});

type Extras = Pick<Placement, 'hint' | 'link'> & { type?: 'identify' | 'performance' };

function placement(sessionId: string, time: string, { type, ...token }: Extras = {}): Placement {
  const event = pendingEvent({ sessionId, createdAtMs: at(time), ...(type && { type }) });
  return { event, ...token };
}

/** Where the visits of a session are kept. */
const keyOf = (sessionId: string): Buffer => visitsKey(pendingEvent({ sessionId }), partitions);

/** Appends the placements as one request and gives their visits. */
async function visitsOf(...placements: Placement[]): Promise<string[]> {
  const result = await log.append({ placements });
  if (!result.ok) throw new Error(result.reason);
  return readUuids(result.visitIds);
}

async function visitOf(sessionId: string, time: string, extras: Extras = {}): Promise<string> {
  const [visitId] = await visitsOf(placement(sessionId, time, extras));
  return String(visitId);
}

describe('a visit is a run of events with gaps of at most 30 minutes', () => {
  test('a gap of exactly 30 minutes is still the same visit, one of a millisecond more is not', async () => {
    const session = randomUUID();
    const first = await visitOf(session, '10:00:00');
    expect(await visitOf(session, '10:30:00')).toBe(first);
    expect(await visitOf(session, '11:00:00.001')).not.toBe(first);
  });

  test('every event prolongs it, also across a full hour and midnight', async () => {
    const session = randomUUID();
    const times = ['22:50:00', '23:10:00', '23:30:00', '23:50:00'];
    const visits = await Promise.all(times.map((time) => visitOf(session, time)));
    const next = placement(session, '00:00:00');
    next.event.createdAtMs = day + 24 * 60 * minute + 5 * minute;
    expect(new Set([...visits, ...(await visitsOf(next))]).size).toBe(1);
  });

  test('its id carries the time of its start as first seen', async () => {
    const session = randomUUID();
    const visit = await visitOf(session, '10:10:00');
    expect(await visitOf(session, '10:00:00')).toBe(visit);
    expect(uuidV7TimeMs(visit)).toBe(at('10:10:00'));
  });

  test('sessions have visits of their own', async () => {
    expect(await visitOf(randomUUID(), '10:00:00')).not.toBe(await visitOf(randomUUID(), '10:00:00'));
  });

  test('a performance measurement joins the running visit but does not prolong it', async () => {
    const session = randomUUID();
    const visit = await visitOf(session, '10:00:00');
    expect(await visitOf(session, '10:20:00', { type: 'performance' })).toBe(visit);
    expect(await visitOf(session, '10:40:00')).not.toBe(visit);
  });

  test('the time of its last event is told with it, when all events of the request are placed', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const type = 'performance';
    const placements = [
      placement(a, '10:20:00'),
      placement(b, '12:00:00', { type }),
      placement(a, '10:40:00', { type }),
      placement(a, '10:00:00'),
    ];
    const result = await log.append({ placements });
    const times = ['10:20:00', '12:00:00', '10:20:00', '10:20:00'];
    expect(result).toMatchObject({ lastAtMs: new Float64Array(times.map(at)) });
  });
});

describe('a late event', () => {
  test('joins the visit to whose first or last event it is nearest', async () => {
    const session = randomUUID();
    const morning = await visitOf(session, '10:00:00');
    const later = await visitOf(session, '10:50:00');
    expect(later).not.toBe(morning);
    expect(await visitOf(session, '10:24:00')).toBe(morning);
    expect(await visitOf(session, '10:40:00')).toBe(later);
  });

  test('joins the earlier of two that are equally near', async () => {
    const session = randomUUID();
    const earlier = await visitOf(session, '10:00:00');
    const later = await visitOf(session, '10:40:00');
    expect(await visitOf(session, '10:20:00')).toBe(earlier);
    expect(await visitOf(session, '10:31:00')).toBe(later);
  });

  test('opens a visit when none is within 30 minutes', async () => {
    const session = randomUUID();
    const now = await visitOf(session, '12:00:00');
    const old = await visitOf(session, '10:00:00');
    expect(old).not.toBe(now);
    expect(await visitOf(session, '12:10:00')).toBe(now);
    expect(await visitOf(session, '10:10:00')).toBe(old);
  });

  test('inside a long visit belongs to it, however far its first and last event are', async () => {
    const session = randomUUID();
    const [visit] = await visitsOf(
      ...['10:00', '10:30', '11:00', '11:30', '12:00'].map((t) => placement(session, `${t}:00`)),
    );
    expect(await visitOf(session, '11:00:00')).toBe(visit);
    expect(await visitOf(session, '10:45:00')).toBe(visit);
  });

  test('never merges two visits, though it closes the gap between them', async () => {
    const session = randomUUID();
    const earlier = await visitOf(session, '10:00:00');
    const later = await visitOf(session, '10:40:00');
    await visitOf(session, '10:20:00');
    expect(await visitOf(session, '10:05:00')).toBe(earlier);
    expect(await visitOf(session, '10:45:00')).toBe(later);
  });
});

describe('the events of one request', () => {
  test('are placed in time order, whatever their order; each gets its own answer', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const visits = await visitsOf(
      placement(a, '11:00:00'),
      placement(b, '10:00:00'),
      placement(a, '10:00:00'),
      placement(a, '10:30:00'),
      placement(b, '11:00:00'),
    );
    expect(visits[0]).toBe(visits[2]);
    expect(visits[0]).toBe(visits[3]);
    expect(uuidV7TimeMs(String(visits[0]))).toBe(at('10:00:00'));
    expect(new Set([visits[0], visits[1], visits[4]]).size).toBe(3);
  });

  test('are one visit also where it begins more than 30 days ago, and others append at the same moment', async () => {
    const session = randomUUID();
    const placements = Array.from({ length: 13 }, (_, i) => {
      const one = placement(session, '10:00:00');
      one.event.createdAtMs = clockMs - 30 * 24 * 60 * minute + (i - 9) * 10 * minute;
      return one;
    });
    const other = placement(randomUUID(), '10:00:00');
    const [, visits] = await Promise.all([visitsOf(other), visitsOf(...placements)]);
    expect(new Set(visits).size).toBe(1);
  });

  test('50 first events of a session at two collectors at once get one visit', async () => {
    const session = randomUUID();
    const second = await connectProducer(database.url, patience.commandTimeout);
    const logs = [log, newLog(second)];
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) => logs[i % 2]?.append({ placements: [placement(session, '10:00:00')] })),
    );
    second.disconnect();
    const visits = results.map((result) => result?.ok && readUuids(result.visitIds)[0]);
    expect(new Set(visits).size).toBe(1);
    expect(visits[0]).toEqual(expect.any(String));
  });

  test('a backfill of a thousand days and more is cut into its visits', async () => {
    const session = randomUUID();
    const placements = Array.from({ length: 2_400 }, (_, i) => {
      const one = placement(session, '10:00:00');
      one.event.createdAtMs = day - Math.floor(i / 2) * 24 * 60 * minute + (i % 2) * minute;
      return one;
    });
    const visits = await visitsOf(...placements);
    expect(new Set(visits).size).toBe(1_200);
    for (let i = 0; i < visits.length; i += 2) expect(visits[i]).toBe(visits[i + 1]);
  });
});

describe('the server remembers a visit', () => {
  test('for 60 minutes of the clock after its last event came, not of the events’ time', async () => {
    const session = randomUUID();
    const first = await visitOf(session, '10:00:00');
    clockMs += 60 * minute;
    expect(await visitOf(session, '10:10:00')).toBe(first);
    clockMs += 60 * minute;
    expect(await visitOf(session, '10:20:00')).toBe(first);
    clockMs += 60 * minute + 1;
    expect(await visitOf(session, '10:30:00')).not.toBe(first);
  });

  test('for 60 minutes and not as long as other visits of the session go on', async () => {
    const session = randomUUID();
    const old = await visitOf(session, '03:00:00');
    clockMs += 40 * minute;
    await visitOf(session, '10:00:00');
    clockMs += 40 * minute;
    await visitOf(session, '10:10:00');
    expect(await visitOf(session, '03:10:00')).not.toBe(old);
  });

  test('and Redis forgets the session then', async () => {
    const session = randomUUID();
    await visitOf(session, '10:00:00');
    expect(await redis.pttl(keyOf(session))).toBeGreaterThan(59 * minute);
  });

  test('while it is among the thousand of its session that were used last, opened or given back by their tokens', async () => {
    const session = randomUUID();
    const daily = Array.from({ length: 1_100 }, (_, i) => {
      const one = placement(session, '10:00:00');
      one.event.createdAtMs = day - i * 24 * 60 * minute;
      return one;
    });
    const visits = await visitsOf(...daily);
    const sentBack = daily.map(({ event }, i) => ({
      event,
      hint: { visitId: String(visits[i]), lastAtMs: event.createdAtMs },
    }));
    expect(await redis.strlen(keyOf(session))).toBe(1_000 * keptVisit.bytes);
    clockMs += 1;
    expect(await visitsOf(...sentBack)).toEqual(visits);
    expect(await redis.strlen(keyOf(session))).toBe(1_000 * keptVisit.bytes);
  });
});

describe('the cache token', () => {
  test('gives back a visit that the server has forgotten', async () => {
    const session = randomUUID();
    const visit = await visitOf(session, '10:00:00');
    await visitOf(session, '10:20:00');
    clockMs += 61 * minute;
    const hint = { visitId: visit, lastAtMs: at('10:20:00') };
    expect(await visitOf(session, '10:45:00', { hint })).toBe(visit);
    expect(await visitOf(session, '10:05:00')).toBe(visit);
  });

  test('carries no visit over more than 30 minutes', async () => {
    const hint = { visitId: mintText(ids, at('10:00:00')), lastAtMs: at('10:00:00') };
    expect(await visitOf(randomUUID(), '10:30:00.001', { hint })).not.toBe(hint.visitId);
    expect(await visitOf(randomUUID(), '10:30:00', { hint })).toBe(hint.visitId);
  });

  test('that is older than what the server knows changes nothing', async () => {
    const session = randomUUID();
    const visit = await visitOf(session, '10:00:00');
    const hint = { visitId: visit, lastAtMs: at('10:00:00') };
    await visitOf(session, '10:25:00', { hint });
    expect(await visitOf(session, '10:50:00', { hint })).toBe(visit);
  });

  test('that knows a later event than the server, since that waits in another region, prolongs the visit', async () => {
    const session = randomUUID();
    const hint = { visitId: await visitOf(session, '10:00:00'), lastAtMs: at('10:25:00') };
    expect(await visitOf(session, '10:45:00', { hint })).toBe(hint.visitId);
    expect(await visitOf(session, '10:25:00')).toBe(hint.visitId);
  });

  test('prolongs no visit over the next one', async () => {
    const session = randomUUID();
    const hint = { visitId: await visitOf(session, '10:00:00'), lastAtMs: at('11:00:00') };
    const next = await visitOf(session, '10:50:00');
    expect(await visitOf(session, '10:55:00', { hint })).toBe(next);
    expect(await visitOf(session, '10:49:00')).toBe(hint.visitId);
  });
});

describe('identification', () => {
  const anonymousVisit = async (): Promise<NonNullable<Placement['link']>> => {
    const sessionId = randomUUID();
    return { sessionId, visitId: await visitOf(sessionId, '10:00:00'), lastAtMs: at('10:00:00') };
  };

  test('an id that comes with the token of a session without id goes on in its running visit', async () => {
    const link = await anonymousVisit();
    const user = randomUUID();
    expect(await visitOf(user, '10:25:00', { link, type: 'identify' })).toBe(link.visitId);
    expect(await visitOf(user, '10:55:00')).toBe(link.visitId);
  });

  test('goes on from the last event of the visit, though the token is older', async () => {
    const link = await anonymousVisit();
    await visitOf(link.sessionId, '10:20:00');
    expect(await visitOf(randomUUID(), '10:50:00', { link })).toBe(link.visitId);
  });

  test('not when the visit is over', async () => {
    const link = await anonymousVisit();
    expect(await visitOf(randomUUID(), '10:31:00', { link })).not.toBe(link.visitId);
  });

  test('not when the id has a running visit of its own', async () => {
    const link = await anonymousVisit();
    const user = randomUUID();
    const own = await visitOf(user, '09:50:00');
    expect(await visitOf(user, '10:01:00', { link })).toBe(own);
  });

  test('only the first id that comes with a visit gets it; it may come again', async () => {
    const link = await anonymousVisit();
    const [first, second] = [randomUUID(), randomUUID()];
    expect(await visitOf(first, '10:01:00', { link })).toBe(link.visitId);
    expect(await visitOf(second, '10:02:00', { link })).not.toBe(link.visitId);
    expect(await visitOf(first, '10:03:00', { link })).toBe(link.visitId);
  });

  test('only the first of two ids that come in one request', async () => {
    const link = await anonymousVisit();
    const [first, second] = await visitsOf(
      placement(randomUUID(), '10:01:00', { link }),
      placement(randomUUID(), '10:02:00', { link }),
    );
    expect(first).toBe(link.visitId);
    expect(second).not.toBe(link.visitId);
  });

  test('goes on from the last event of the visit, also when it came with that visit before', async () => {
    const link = await anonymousVisit();
    const user = randomUUID();
    await visitOf(user, '10:05:00', { link });
    await visitOf(link.sessionId, '10:20:00');
    await visitOf(link.sessionId, '10:40:00');
    expect(await visitOf(user, '10:45:00', { link: { ...link, lastAtMs: at('10:40:00') } })).toBe(link.visitId);
    expect(await visitOf(user, '11:15:00')).toBe(link.visitId);
  });

  test('a visit that comes again does not reach over another visit of the id', async () => {
    const link = await anonymousVisit();
    const user = randomUUID();
    const own = await visitOf(user, '09:20:00');
    await visitOf(user, '10:05:00', { link });
    for (const time of ['09:40:00', '09:15:00', '10:25:00']) await visitOf(link.sessionId, time);
    expect(await visitOf(user, '10:38:00', { link: { ...link, lastAtMs: at('10:25:00') } })).toBe(link.visitId);
    expect(await visitOf(user, '09:18:00')).toBe(own);
  });

  test('the token suffices when the server has forgotten the visit', async () => {
    const link = await anonymousVisit();
    clockMs += 61 * minute;
    const first = randomUUID();
    expect(await visitOf(first, '10:10:00', { link })).toBe(link.visitId);
    expect(await visitOf(randomUUID(), '10:11:00', { link })).not.toBe(link.visitId);
  });

  test('the session without id keeps its visit', async () => {
    const link = await anonymousVisit();
    await visitOf(randomUUID(), '10:01:00', { link });
    expect(await visitOf(link.sessionId, '10:02:00')).toBe(link.visitId);
  });

  test('an earlier visit of the id that lies inside the lent one does not hide it', async () => {
    const session = randomUUID();
    const user = randomUUID();
    await visitOf(user, '09:05:00');
    const [visitId] = await visitsOf(...['09:00', '09:30', '10:00'].map((time) => placement(session, `${time}:00`)));
    const link = { sessionId: session, visitId: String(visitId), lastAtMs: at('10:00:00') };
    expect(await visitOf(user, '09:50:00', { link })).toBe(visitId);
    expect(await visitOf(user, '10:10:00')).toBe(visitId);
  });
});
