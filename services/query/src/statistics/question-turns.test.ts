import { expect, test } from 'vitest';
import { createQueryCounts } from '../query-counts.ts';
import { createQuestionTurns } from './question-turns.ts';

const stay = () => new AbortController().signal;
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Turns whose questions run until they are told to end; `started` has them in the order in which they began. */
function createOffice(limits: { perCaller?: number; inAll?: number; waitMaxMs?: number } = {}) {
  const counts = createQueryCounts();
  const turns = createQuestionTurns({ perCaller: 2, inAll: 3, waitMaxMs: 60_000, ...limits }, counts);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, signal = stay()) =>
    turns.take(name.slice(0, 1), signal, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { counts, turns, started, ask, end };
}

test('no more run at once than one caller and all together may; the others follow in their order', async () => {
  const { counts, started, ask, end } = createOffice();
  const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => ask(name));
  expect(started).toEqual(['a1', 'a2', 'b1']);
  expect(counts.questionsWaiting).toBe(3);
  await end('a1');
  expect(started.slice(3)).toEqual(['b2']);
  await end('b1');
  expect(started.slice(4)).toEqual(['a3']);
  for (const name of ['a2', 'a3', 'a4', 'b2']) await end(name);
  expect(await Promise.all(asked)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2']);
  expect(counts.questionsWaiting).toBe(0);
});

test('a caller with one question comes before those who have some running, however much they ask', async () => {
  const { started, ask, end } = createOffice({ perCaller: 2, inAll: 4 });
  for (let i = 1; i <= 50; i++) for (const caller of ['a', 'b']) void ask(`${caller}${i}`);
  void ask('c1');
  expect(started).toEqual(['a1', 'b1', 'a2', 'b2']);
  await end('a1');
  expect(started.slice(4)).toEqual(['c1']);
});

test('callers who ask as much as each other get turns in turn', async () => {
  const { started, ask, end } = createOffice({ perCaller: 1, inAll: 1 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2']) void ask(name);
  for (let i = 0; i < 8; i++) await end(started[i] ?? '');
  expect(started).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3']);
});

test('who waited too long is told 503, and keeps no place', async () => {
  const { counts, started, ask, end } = createOffice({ perCaller: 1, waitMaxMs: 1 });
  void ask('a1');
  await expect(ask('a2')).rejects.toMatchObject({ code: 'service-unavailable' });
  expect([counts.questionsWaiting, counts.questionsRefused]).toEqual([0, { waited: 1, too_many: 0 }]);
  await end('a1');
  expect(started).toEqual(['a1']);
  void ask('a3');
  expect(started).toEqual(['a1', 'a3']);
});

test('of more questions of one caller than may wait the last are told 429, and other callers are not', async () => {
  const { counts, started, ask } = createOffice();
  for (let i = 1; i <= 202; i++) void ask(`a${i}`);
  await expect(ask('a203')).rejects.toMatchObject({ code: 'rate-limited', headers: { 'retry-after': '5' } });
  expect(counts.questionsRefused).toEqual({ waited: 0, too_many: 1 });
  void ask('b1');
  expect(started).toEqual(['a1', 'a2', 'b1']);
});

test('who goes away while waiting leaves the line, and the one behind gets the turn', async () => {
  const { counts, started, ask, end } = createOffice({ perCaller: 1 });
  const gone = new AbortController();
  void ask('a1');
  const [left] = [ask('a2', gone.signal), ask('a3')];
  gone.abort();
  await expect(left).rejects.toMatchObject({ kind: 'aborted' });
  await expect(ask('a4', gone.signal)).rejects.toMatchObject({ kind: 'aborted' });
  expect(counts).toMatchObject({ questionsWaiting: 1, questionsRefused: { waited: 0, too_many: 0 } });
  await end('a1');
  expect(started).toEqual(['a1', 'a3']);
});

test('a question that fails gives its turn back', async () => {
  const { turns } = createOffice({ perCaller: 1, inAll: 1 });
  const fail = () => turns.take('a', stay(), () => Promise.reject(new Error('away')));
  for (let i = 0; i < 3; i++) await expect(fail()).rejects.toThrow('away');
  expect(await turns.take('b', stay(), async () => 'answer')).toBe('answer');
});
