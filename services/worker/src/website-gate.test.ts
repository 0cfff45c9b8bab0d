import { setTimeout as delay } from 'node:timers/promises';
import { type LoggedEvent, mintText, pendingEvent, rowsOf } from '@meridian/queue/test-events';
import { createUuidV7Minter } from '@meridian/queue/uuid-v7';
import type { WebsiteStatus } from '@meridian/registry/rows';
import { expect, test } from 'vitest';
import { createWebsiteGate, statusLifeMs } from './website-gate.ts';

const ids = createUuidV7Minter();
const collectedAt = Date.parse('2026-06-10T10:00:00.000Z');
const [a, b, c, d] = [
  '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8a',
  '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8b',
  '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8c',
  '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8d',
] as const;
const open: WebsiteStatus = { region: 'us', resetAt: null, deleted: false };

const event = (websiteId: string, atMs = collectedAt) => pendingEvent({ websiteId, eventId: mintText(ids, atMs) });

/** A registry whose answers the test sets, a clock that it moves, and a count of questions. */
function createFixture(statuses: Record<string, WebsiteStatus | null>) {
  const state = { nowMs: 0, asked: [] as string[], beforeAnswer: async () => {} };
  const { admit, forget } = createWebsiteGate({
    registry: {
      async findWebsiteStatuses(ids) {
        state.asked.push(ids.join());
        const found = ids.flatMap((id): [string, WebsiteStatus][] => (statuses[id] ? [[id, statuses[id]]] : []));
        await state.beforeAnswer();
        return new Map(found);
      },
    },
    now: () => state.nowMs,
  });
  /** The events that are let in. */
  const admitted = async (events: LoggedEvent[]): Promise<LoggedEvent[]> =>
    (await admit(rowsOf(events))).admitted.flatMap((row) => events[row] ?? []);
  return { gate: { admit: admitted, forget }, judge: admit, state, statuses };
}

test('events of deleted and of unknown websites are kept out, in the order of the others', async () => {
  const { gate } = createFixture({ [a]: open, [b]: { ...open, deleted: true }, [d]: open });
  const events = [a, b, c, d, a].map((id) => event(id));
  expect(await gate.admit(events)).toEqual([events[0], events[3], events[4]]);
});

test('events collected before the reset are kept out, whatever their event time', async () => {
  const { gate } = createFixture({ [a]: { ...open, resetAt: new Date(collectedAt) } });
  const before = { ...event(a, collectedAt - 1), createdAtMs: collectedAt + 1_000 };
  const backfilled = { ...event(a, collectedAt), createdAtMs: 0 };
  expect(await gate.admit([before, backfilled])).toEqual([backfilled]);
});

test('what is kept out is told website by website, with the time of its reset', async () => {
  const resetAt = new Date(collectedAt);
  const { judge } = createFixture({ [a]: { ...open, resetAt }, [b]: { ...open, deleted: true }, [d]: open });
  const early = collectedAt - 1;
  const { removed } = await judge(rowsOf([event(a, early), event(b), event(a), event(c), event(d), event(a, early)]));
  expect(removed).toEqual([{ numbers: [0, 5], before: resetAt }, { numbers: [1] }, { numbers: [3] }]);
});

test('a registry that does not answer drops nothing', async () => {
  const { gate, state } = createFixture({ [a]: open });
  state.beforeAnswer = () => Promise.reject(new Error('away'));
  await expect(gate.admit([event(a)])).rejects.toThrow('away');
  state.beforeAnswer = async () => {};
  expect(await gate.admit([event(a)])).toHaveLength(1);
});

test('all websites are asked for in one question, and again when their time has run out', async () => {
  const { gate, state } = createFixture({ [a]: open, [b]: open });
  await gate.admit([event(a), event(b), event(a)]);
  state.nowMs = statusLifeMs - 1;
  await gate.admit([event(a)]);
  expect(state.asked).toEqual([`${a},${b}`]);
  state.nowMs = statusLifeMs;
  await gate.admit([event(a)]);
  expect(state.asked).toEqual([`${a},${b}`, a]);
});

test('news of a change count at once', async () => {
  const { gate, statuses } = createFixture({ [a]: open });
  await gate.admit([event(a)]);
  statuses[a] = { ...open, deleted: true };
  gate.forget(a);
  expect(await gate.admit([event(a)])).toEqual([]);
});

test('an answer that was under way when news came is asked for again', async () => {
  const { gate, state, statuses } = createFixture({ [a]: open });
  state.beforeAnswer = async () => {
    statuses[a] = { ...open, deleted: true };
    state.beforeAnswer = async () => {};
    gate.forget(a);
  };
  expect(await gate.admit([event(a)])).toEqual([]);
});

test('an answer that took so long that it may be outdated is refused, and asked for again by the next attempt only', async () => {
  const { gate, state, statuses } = createFixture({ [a]: open });
  state.beforeAnswer = async () => {
    statuses[a] = { ...open, deleted: true };
    state.nowMs += statusLifeMs;
  };
  await expect(gate.admit([event(a)])).rejects.toMatchObject({ name: 'RegistryError', kind: 'unavailable' });
  expect(state.asked).toEqual([a]);
  state.beforeAnswer = async () => {};
  expect(await gate.admit([event(a)])).toEqual([]);
});

test('all websites of a batch are judged by what holds at one moment', async () => {
  const { gate, state, statuses } = createFixture({ [a]: open, [b]: open });
  await gate.admit([event(a)]);
  state.beforeAnswer = async () => {
    statuses[a] = { ...open, deleted: true };
    state.beforeAnswer = async () => {};
    gate.forget(a);
  };
  const events = [event(a), event(b)];
  expect(await gate.admit(events)).toEqual([events[1]]);
});

test('two batches of one website that are asked about at the same time take nothing from each other', async () => {
  const { gate, state } = createFixture({ [a]: open, [b]: open });
  state.beforeAnswer = async () => {
    if (state.asked.length > 10) throw new Error('asked again and again');
    await delay(5);
  };
  const batches = [[event(a)], [event(a), event(b)]];
  expect(await Promise.all(batches.map((events) => gate.admit(events)))).toEqual(batches);
  expect(state.asked).toEqual([a, `${a},${b}`]);
});

test('news of a change make every answer worthless that is under way', async () => {
  const { gate, state, statuses } = createFixture({ [a]: open });
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  state.beforeAnswer = () => held;
  const admissions = [gate.admit([event(a)]), gate.admit([event(a)])];
  statuses[a] = { ...open, deleted: true };
  gate.forget(a);
  admissions.push(gate.admit([event(a)]));
  answer();
  expect(await Promise.all(admissions)).toEqual([[], [], []]);
});

test('websites of one batch do not run out in turns while the registry is slow', async () => {
  const { gate, state } = createFixture({ [a]: open, [b]: open });
  state.beforeAnswer = async () => {
    state.nowMs += 0.6 * statusLifeMs;
    if (state.asked.length > 10) throw new Error('asked again and again');
  };
  await gate.admit([event(a)]);
  const events = [event(a), event(b)];
  expect(await gate.admit(events)).toEqual(events);
  expect(state.asked).toEqual([a, b, `${a},${b}`]);
});
