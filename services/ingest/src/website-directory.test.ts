import type { WebsiteStatus } from '@meridian/registry/rows';
import { expect, test } from 'vitest';
import { createWebsiteDirectory } from './website-directory.ts';

const live: WebsiteStatus = { region: 'us', resetAt: null, deleted: false };

/** A registry of one website, whose answers, clock and count of questions the test holds. */
function setUp() {
  const state = { status: live as WebsiteStatus | null, isAway: false, questions: 0, reports: 0, nowMs: 0 };
  const directory = createWebsiteDirectory({
    findWebsiteStatuses: async (ids) => {
      state.questions++;
      if (state.isAway) throw new Error('away');
      const { status } = state;
      await nextTurn();
      return new Map(status ? ids.map((id) => [id, status]) : []);
    },
    reportOutage: () => state.reports++,
    now: () => state.nowMs,
  });
  return { state, directory };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets a refresh in the background come to its end. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await nextTurn();
}

test('a website is asked for once, also by many events at once', async () => {
  const { state, directory } = setUp();
  const first = await Promise.all([directory.find('w'), directory.find('w'), directory.find('w')]);
  expect(first).toEqual([{ region: 'us' }, { region: 'us' }, { region: 'us' }]);
  expect(directory.find('w')).toEqual({ region: 'us' });
  expect(state.questions).toBe(1);
});

test('thousands of ids at once keep no website waiting for a question of its own: a question asks for a thousand', async () => {
  const asked: number[] = [];
  const directory = createWebsiteDirectory({
    async findWebsiteStatuses(ids) {
      asked.push(ids.length);
      return new Map(ids.includes('w') ? [['w', live]] : []);
    },
    reportOutage: () => {},
  });
  const madeUp = Array.from({ length: 4_000 }, (_, i) => directory.find(`w${i}`));
  expect(await directory.find('w')).toEqual({ region: 'us' });
  expect(new Set(await Promise.all(madeUp))).toEqual(new Set([null]));
  expect(asked).toEqual([1_000, 1_000, 1_000, 1_000, 1]);
});

test('a known website is answered at once after a minute too, and refreshed in the background', async () => {
  const { state, directory } = setUp();
  await directory.find('w');
  state.nowMs = 60_000;
  state.status = { ...live, deleted: true };
  expect(directory.find('w')).toEqual({ region: 'us' });
  await settled();
  expect(await directory.find('w')).toBeNull();
});

test('known websites outlive an outage of the registry, unknown ones are not taken for invalid, and every failed lookup is reported', async () => {
  const { state, directory } = setUp();
  await directory.find('w');
  state.isAway = true;
  for (const hours of [1, 2, 48]) {
    state.nowMs = hours * 3_600_000;
    expect(directory.find('w')).toEqual({ region: 'us' });
    await settled();
  }
  expect(state.reports).toBe(3);
  await expect(Promise.all([directory.find('other'), directory.find('other')])).rejects.toThrow('away');
  expect(state.reports).toBe(4);
  state.isAway = false;
  expect(await directory.find('other')).toEqual({ region: 'us' });
});

test('while the registry is away it is not asked for every event', async () => {
  const { state, directory } = setUp();
  await directory.find('w');
  state.isAway = true;
  state.nowMs = 60_000;
  for (let i = 0; i < 100; i++) {
    directory.find('w');
    await settled();
  }
  expect(state.questions).toBe(2);
});

test('an unknown website is remembered for a second at most, a deleted one is unknown', async () => {
  const { state, directory } = setUp();
  state.status = null;
  expect(await directory.find('w')).toBeNull();
  expect(directory.find('w')).toBeNull();
  state.status = live;
  state.nowMs = 1_000;
  expect(await directory.find('w')).toEqual({ region: 'us' });
  directory.forget('w');
  state.status = { ...live, deleted: true };
  expect(await directory.find('w')).toBeNull();
});

test('news of a change counts at once, also for what is being looked up at that moment', async () => {
  const { state, directory } = setUp();
  await directory.find('w');
  state.status = null;
  directory.forget('w');
  expect(await directory.find('w')).toBeNull();

  directory.forget('w');
  const askedBefore = directory.find('w');
  await nextTurn();
  expect(state.questions).toBe(3);
  state.status = live;
  directory.forget('w');
  await askedBefore;
  expect(await directory.find('w')).toEqual({ region: 'us' });
});

test('when news may have been missed, every website is asked about again, and serves until the answer is there', async () => {
  const { state, directory } = setUp();
  await directory.find('w');
  state.status = null;
  directory.doubtAll();
  expect(directory.find('w')).toEqual({ region: 'us' });
  await settled();
  expect(await directory.find('w')).toBeNull();
  expect(state.questions).toBe(2);
});

test('made-up ids cannot pile up lookups without end', async () => {
  const errors: unknown[] = [];
  const directory = createWebsiteDirectory({
    findWebsiteStatuses: () => new Promise(() => {}),
    reportOutage: (error) => errors.push(error),
  });
  for (let i = 0; i < 50_000; i++) directory.find(`w${i}`);
  await expect(directory.find('one more')).rejects.toThrow('Too many');
  expect(errors).toHaveLength(1);
});
