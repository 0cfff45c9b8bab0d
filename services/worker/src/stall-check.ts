import type { ReadinessCheck } from '@meridian/runtime/health';

/**
 * A worker is not ready when it has ended no batch of the live lane for `stallMaxMs` although an event there has waited
 * for longer. A worker that works off a long log is ready, and so is one that has nothing to do because others are
 * faster.
 */
export function createStallCheck(deps: {
  lastEndedAt: () => number;
  /** How long the oldest event of the live lane has waited. */
  lagMs: () => Promise<number>;
  stallMaxMs: number;
  /** The clock of `lastEndedAt`. */
  now?: () => number;
}): ReadinessCheck {
  const { lastEndedAt, lagMs, stallMaxMs, now = () => performance.now() } = deps;
  return async () => {
    if (now() - lastEndedAt() <= stallMaxMs) return;
    if ((await lagMs()) > stallMaxMs) throw new Error('Events wait, and none is stored');
  };
}
