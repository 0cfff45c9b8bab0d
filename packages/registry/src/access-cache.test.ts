import { expect, test } from 'vitest';
import { createAccessCache, subject } from './access-cache.ts';
import type { AccessChangeHandlers } from './access-changes.ts';

const user = subject('user', 'u');

/** A memory of what `state.role` is, and what reaches it of the world. */
function createMemory() {
  const heard: Partial<AccessChangeHandlers> = {};
  const state = { role: 'admin', isCurrent: true, asked: 0 };
  const cache = createAccessCache((handlers) => {
    Object.assign(heard, handlers);
    return { isCurrent: () => state.isCurrent, close: async () => {} };
  });
  let untilAnswered = Promise.resolve();
  const ask = async (_id: string) => {
    state.asked++;
    const { role } = state;
    await untilAnswered;
    return role;
  };
  const find = cache.remember(
    ask,
    (id) => id,
    (_role, id) => [subject('user', id)],
  );
  /** Answers are on their way, with what was true when they were asked for, until the function is called. */
  const hold = (): (() => void) => {
    let release = () => {};
    untilAnswered = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  return { cache, state, find, hold, onChange: (of: string) => heard.onChange?.(of), onGap: () => heard.onGap?.() };
}

test('what was answered is not asked again, and after a change of it is', async () => {
  const { state, find, onChange } = createMemory();
  expect([await find('u'), await find('u'), state.asked]).toEqual(['admin', 'admin', 1]);
  onChange('user other');
  expect([await find('u'), state.asked]).toEqual(['admin', 1]);
  state.role = 'user';
  onChange(user);
  expect([await find('u'), await find('u'), state.asked]).toEqual(['user', 'user', 2]);
});

test.each(['change', 'gap'] as const)(
  'an answer that was on its way during a %s is given to who asked and not remembered',
  async (event) => {
    const { state, find, hold, onChange, onGap } = createMemory();
    await find('other'); // follows changes from now on
    const release = hold();
    const old = find('u');
    state.role = 'user';
    if (event === 'change') onChange(user);
    else onGap();
    release();
    expect([await old, await find('u')]).toEqual(['admin', 'user']);
  },
);

test('of two answers under way the older one does not replace the newer', async () => {
  const { state, find, hold, onChange } = createMemory();
  await find('other');
  const release = hold();
  const old = find('u');
  state.role = 'user';
  onChange(user);
  const releaseNew = hold();
  const fresh = find('u');
  releaseNew();
  expect(await fresh).toBe('user');
  release();
  await old;
  expect(await find('u')).toBe('user');
});

test('while changes may go unheard every question is asked', async () => {
  const { state, find } = createMemory();
  await find('u');
  [state.isCurrent, state.role] = [false, 'user'];
  expect([await find('u'), await find('u'), state.asked]).toEqual(['user', 'user', 3]);
});

test('an own change counts with the next question, also one that failed half-way', async () => {
  const { cache, state, find } = createMemory();
  await find('u');
  const demote = cache.changing('user', async (_id: string) => {
    state.role = 'user';
  });
  await demote('U');
  expect(await find('u')).toBe('user');
  const breakOff = cache.changing('user', async (_id: string) => {
    state.role = 'view-only';
    throw new Error('too late');
  });
  await expect(breakOff('u')).rejects.toThrow('too late');
  expect(await find('u')).toBe('view-only');
});

test('memory is bounded: the oldest answers and changes go first, and never what would make an old answer count', async () => {
  const { state, find, onChange } = createMemory();
  await find('u');
  onChange(user);
  state.role = 'user';
  for (let i = 0; i < 10_001; i++) onChange(`user ${i}`);
  expect(await find('u')).toBe('user');
  for (let i = 0; i < 10_000; i++) await find(`other ${i}`);
  const { asked } = state;
  await find('u');
  expect(state.asked).toBe(asked + 1);
});
