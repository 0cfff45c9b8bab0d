/**
 * The outcome; but once the signal is aborted it is waited for only so much longer, and then given up: rejects with the
 * signal's reason. For what waits without limit for a store that is away.
 */
export function untilStopped<Value>(
  outcome: Promise<Value>,
  { stopSignal, graceMs }: { stopSignal: AbortSignal; graceMs: number },
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUpSoon = (): void => {
      timer = setTimeout(() => reject(stopSignal.reason), graceMs);
    };
    if (stopSignal.aborted) giveUpSoon();
    else stopSignal.addEventListener('abort', giveUpSoon, { once: true });
    outcome.then(resolve, reject).finally(() => {
      stopSignal.removeEventListener('abort', giveUpSoon);
      clearTimeout(timer);
    });
  });
}
