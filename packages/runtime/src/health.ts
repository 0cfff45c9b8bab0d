import { withinMs } from './within-ms.ts';

/** Answers whether a part can do its work now; throws or rejects when it cannot. */
export type ReadinessCheck = () => Promise<unknown>;

type Readiness = { ok: boolean; notReady: string[] };

/**
 * Asks all parts at once; a part that does not answer within `timeoutMs` is not ready.
 * `notReady` holds the names as given, so they must say nothing secret.
 */
export async function checkReadiness(checks: Record<string, ReadinessCheck>, timeoutMs = 1_000): Promise<Readiness> {
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ((await answersInTime(check, timeoutMs)) ? [] : [name])),
  );
  const notReady = outcomes.flat();
  return { ok: notReady.length === 0, notReady };
}

async function answersInTime(check: ReadinessCheck, timeoutMs: number): Promise<boolean> {
  try {
    await withinMs(timeoutMs, check(), 'no answer in time');
    return true;
  } catch {
    return false;
  }
}

/** The check until it has succeeded once; from then on nothing. */
export function untilFirstSuccess(check: ReadinessCheck): ReadinessCheck {
  let succeeded = false;
  return async () => {
    if (succeeded) return;
    await check();
    succeeded = true;
  };
}
