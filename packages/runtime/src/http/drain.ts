import { setTimeout as delay } from 'node:timers/promises';
import type { ReadinessCheck } from '../health.ts';

/**
 * Before a process stops listening its load balancer has to know: a connection that is opened at that moment is reset,
 * and the request on it lost. So for `ms` the process says that it is not ready, and serves on.
 */
export function createDrain(ms: number): { check: ReadinessCheck; drain(): Promise<void> } {
  let isDraining = false;
  return {
    check: async () => {
      if (isDraining) throw new Error('The process is about to stop');
    },
    async drain() {
      isDraining = true;
      await delay(ms);
    },
  };
}
