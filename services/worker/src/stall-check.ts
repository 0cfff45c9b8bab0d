import { type Lane, lanes } from '@meridian/queue/log-keys';
import type { ReadinessCheck } from '@meridian/runtime/health';

/**
 * A worker is not ready when it has ended no batch of a lane for `stallMaxMs` although an event there has waited for
 * longer. A worker that works off a long log is ready, and so is one that has nothing to do because others are faster.
 */
export function createStallCheck(deps: {
  lastEndedAt: (lane: Lane) => number;
  /** How long the lane's oldest event has waited. */
  lagMs: (lane: Lane) => Promise<number>;
  stallMaxMs: number;
  /** The clock of `lastEndedAt`. */
  now?: () => number;
}): ReadinessCheck {
  const { lastEndedAt, lagMs, stallMaxMs, now = () => performance.now() } = deps;
  return async () => {
    for (const lane of lanes) {
      if (now() - lastEndedAt(lane) <= stallMaxMs) continue;
      if ((await lagMs(lane)) > stallMaxMs) throw new Error('Events wait, and none is stored');
    }
  };
}
