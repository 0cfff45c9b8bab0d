import { type Finding, fail, ok, warn } from './finding.ts';

const lateMs = 2_000;
const wrongMs = 60_000;

/**
 * How far a clock is ahead of this machine's, in ms; the question's way there and back is taken out, as far as it can
 * be.
 */
export async function measureClock(read: () => Promise<Date>, now: () => Date): Promise<number> {
  const askedAtMs = now().getTime();
  const saidMs = (await read()).getTime();
  return saidMs - (askedAtMs + now().getTime()) / 2;
}

/** Whether the stores' clocks agree with this machine's. A store that does not answer has a check of its own. */
export async function checkClocks(clocks: Record<string, () => Promise<Date>>, now: () => Date): Promise<Finding> {
  const measured = await Promise.all(
    Object.entries(clocks).map(
      async ([name, read]) => [name, await measureClock(read, now).catch(() => null)] as const,
    ),
  );
  return judgeClocks(new Map(measured.flatMap(([name, aheadMs]) => (aheadMs === null ? [] : [[name, aheadMs]]))));
}

export function judgeClocks(aheadMs: ReadonlyMap<string, number>): Finding {
  if (aheadMs.size === 0) return warn('no clock could be read', 'See the checks of the stores.');
  const detail = [...aheadMs].map(([name, ms]) => `${name} ${secondsAhead(ms)}`).join(', ');
  const worstMs = Math.max(...[...aheadMs.values()].map(Math.abs));
  const advice = 'Let every machine take its time from NTP: events have the time of the machine that takes them.';
  if (worstMs > wrongMs) return fail(detail, advice);
  return worstMs > lateMs ? warn(detail, advice) : ok(detail);
}

/** Such as "+0.1 s". */
export function secondsAhead(ms: number): string {
  const text = (ms / 1_000).toFixed(1);
  return `${text.startsWith('-') ? '' : '+'}${text} s`;
}
