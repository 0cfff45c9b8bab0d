import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { logOutages } from './log-outages.ts';

/** What is logged of a part whose looks end like this, the last one for ever; `true`: it works. */
async function linesOf(...looks: (true | 'fails' | 'hangs')[]): Promise<unknown[]> {
  const lines: unknown[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  const stops: (() => unknown)[] = [];
  const life = { onStop: (_: string, stop: () => unknown) => void stops.push(stop), stop: async () => {} };
  let count = 0;
  const part = async () => {
    const look = looks[Math.min(count++, looks.length - 1)];
    if (look === 'fails') throw new Error('no password', { cause: new Error('28P01') });
    if (look === 'hangs') await new Promise(() => {});
  };
  logOutages({ life, logger, everyMs: 2 }, { part, other: async () => {} });
  onTestFinished(() => {
    for (const stop of stops) stop();
  });
  await expect.poll(() => count).toBeGreaterThan(looks.length + 3);
  return lines;
}

const cannot = (message: string) => ({
  level: 50,
  part: 'part',
  msg: 'cannot be used',
  err: expect.objectContaining({ message: expect.stringContaining(message) }),
});
const again = { level: 30, part: 'part', msg: 'can be used again' };

test('a part that cannot be used is told once, with the reason, and once that it works again', async () => {
  expect(await linesOf('fails')).toEqual([cannot('no password: 28P01')]);
  expect(await linesOf('hangs')).toEqual([cannot('no answer in time')]);
  expect(await linesOf(true, 'fails', 'fails', 'fails', true)).toEqual([cannot('no password'), again]);
  expect(await linesOf('fails', 'fails', true, 'fails')).toEqual([cannot('no'), again, cannot('no')]);
});

test('what works, or fails for a moment, is not told', async () => {
  expect(await linesOf(true)).toEqual([]);
  expect(await linesOf('fails', true, 'hangs', true)).toEqual([]);
});
