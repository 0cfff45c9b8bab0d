import type { ReadinessCheck } from './health.ts';
import type { Logger } from './logger.ts';
import type { Life } from './process.ts';
import { withinMs } from './within-ms.ts';

/** A process that starts, or a store that is restarted, is nothing that somebody has to look at. */
const failuresMin = 2;

/**
 * Says in the log which part cannot be used, once and with the reason, and when it can be again. It looks by itself
 * until the process ends: not every process is asked for /readyz, and that tells no reason.
 */
export function logOutages(
  { life, logger, everyMs = 5_000 }: { life: Life; logger: Logger; everyMs?: number },
  checks: Record<string, ReadinessCheck>,
): void {
  const failures = new Map<string, number>();

  async function look(part: string, check: ReadinessCheck): Promise<void> {
    const before = failures.get(part) ?? 0;
    try {
      await withinMs(everyMs, check(), 'no answer in time');
      failures.delete(part);
      if (before >= failuresMin) logger.info({ part }, 'can be used again');
    } catch (err) {
      failures.set(part, before + 1);
      if (before + 1 === failuresMin) logger.error({ err, part }, 'cannot be used');
    }
  }

  let isLooking = false;
  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    await Promise.all(Object.entries(checks).map(([part, check]) => look(part, check)));
    isLooking = false;
  }, everyMs);
  life.onStop('outages', () => clearInterval(timer));
}
