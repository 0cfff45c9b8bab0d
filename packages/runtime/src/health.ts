import { withinMs } from './within-ms.ts';

/** Answers whether a part can do its work now; throws or rejects when it cannot. */
export type ReadinessCheck = () => Promise<unknown>;

/**
 * By names that say nothing secret. `own`: what this process alone needs. `stores`: what all processes of the region
 * share.
 */
export type ReadinessChecks = {
  own?: Record<string, ReadinessCheck>;
  stores?: Record<string, ReadinessCheck>;
};

/** `ok`: requests should come here. `notReady`: what does not work at the moment. */
export type Readiness = { ok: boolean; notReady: string[] };

/**
 * Whether a process should get requests: when all of its own works, and each store has been reached once. A store that
 * goes away later is away from all: were they taken out of service, nobody would be left to tell clients when to come
 * again, and to answer what needs no such store. A part that does not answer within `timeoutMs` does not work.
 * Anybody can ask, so all who ask at a time share one check.
 */
export function createReadiness({ own = {}, stores = {} }: ReadinessChecks, timeoutMs = 1_000) {
  const reached = new Set<string>();
  let running: Promise<Readiness> | null = null;

  async function check(): Promise<Readiness> {
    const [failing, away] = await Promise.all([failingOf(own, timeoutMs), failingOf(stores, timeoutMs)]);
    for (const name of Object.keys(stores)) if (!away.includes(name)) reached.add(name);
    const ok = failing.length === 0 && away.every((name) => reached.has(name));
    return { ok, notReady: [...failing, ...away] };
  }

  return (): Promise<Readiness> => {
    running ??= check().finally(() => (running = null));
    return running;
  };
}

/** The names of the checks that fail; all are asked at once. */
async function failingOf(checks: Record<string, ReadinessCheck>, timeoutMs: number): Promise<string[]> {
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ((await answersInTime(check, timeoutMs)) ? [] : [name])),
  );
  return outcomes.flat();
}

async function answersInTime(check: ReadinessCheck, timeoutMs: number): Promise<boolean> {
  try {
    await withinMs(timeoutMs, check(), 'no answer in time');
    return true;
  } catch {
    return false;
  }
}
