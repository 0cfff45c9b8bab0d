import type { Target } from './closed-load.ts';
import { connectSender } from './sender.ts';
import type { NextVisitor } from './visitors.ts';

/**
 * Before the counted requests, at the same rate, so that both sides have seen all connections and compiled what they
 * run.
 */
const leadInSeconds = 1;

/** `latenciesMs`: ascending. */
export type OpenLoadResult = { latenciesMs: Float64Array; failed: number };

/**
 * Sends requests at random times (a Poisson process), `perSecond` on average for `seconds`, whether earlier ones are
 * answered or not: the times are fixed beforehand. A latency counts from the time at which the request should have
 * left, so that what waits for a free connection, or for a sender that has no time, counts as well (no coordinated
 * omission). Sends every request, however long that takes.
 */
export async function openLoad(options: {
  target: Target;
  nextVisitor: NextVisitor;
  connections: number;
  perSecond: number;
  seconds: number;
}): Promise<OpenLoadResult> {
  const { target, nextVisitor, connections, perSecond, seconds } = options;
  const senders = await Promise.all(Array.from({ length: connections }, () => connectSender(target.port, nextVisitor)));
  const dueMs = arrivals(perSecond, leadInSeconds + seconds);
  const latenciesMs = new Float64Array(dueMs.length);
  const idle = [...senders];
  let failed = 0;
  await new Promise<void>((resolve) => {
    const startedAtMs = performance.now();
    let next = 0;
    let answered = 0;

    function sendWhatIsDue(): void {
      const nowMs = performance.now() - startedAtMs;
      while ((dueMs[next] ?? Number.POSITIVE_INFINITY) <= nowMs) {
        const sender = idle.shift();
        if (!sender) return;
        const number = next++;
        sender.send((isOk) => {
          latenciesMs[number] = performance.now() - startedAtMs - (dueMs[number] ?? 0);
          if (!isOk) failed++;
          idle.push(sender);
          if (++answered === dueMs.length) resolve();
          else sendWhatIsDue();
        });
      }
    }

    function tick(): void {
      sendWhatIsDue();
      if (next < dueMs.length) setTimeout(tick, 1);
    }
    if (dueMs.length === 0) resolve();
    else tick();
  });
  for (const sender of senders) sender.close();
  const counted = latenciesMs.subarray(dueMs.findIndex((ms) => ms >= leadInSeconds * 1_000));
  return { latenciesMs: counted.sort(), failed };
}

function arrivals(perSecond: number, seconds: number): number[] {
  const times: number[] = [];
  for (let at = 0; ; ) {
    at -= (Math.log(1 - Math.random()) * 1_000) / perSecond;
    if (at > seconds * 1_000) return times;
    times.push(at);
  }
}

/** @param share 0.99 for the 99th percentile */
export function percentile(ascending: Float64Array, share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
}
