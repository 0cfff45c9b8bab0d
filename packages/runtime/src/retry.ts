import { setTimeout as delay } from 'node:timers/promises';

const firstPauseMs = 100;
const longestPauseMs = 5_000;

/**
 * Repeats an attempt for as long as it fails with an error worth retrying, with growing pauses of random length.
 * Rejects with any other error at once, and with the signal's reason once it is aborted and an attempt has failed.
 */
export async function retry<Value>(
  attempt: () => Promise<Value>,
  {
    isWorthRetrying,
    onRetry,
    signal,
  }: {
    isWorthRetrying: (error: unknown) => boolean;
    /** Hears of every failed attempt that will be repeated. */
    onRetry: (error: unknown, attempts: number) => void;
    signal: AbortSignal;
  },
): Promise<Value> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isWorthRetrying(error)) throw error;
      onRetry(error, attempts);
    }
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempts - 1, 10));
    await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
    signal.throwIfAborted();
  }
}
