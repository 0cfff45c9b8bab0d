/**
 * So many may be in use at a time, and so many of one network; the others wait, first come first served. Network '': of
 * no client, with no bound of its own.
 */
export function createPlaces(max: number, ofNetworkMax: number) {
  let free = max;
  const usedBy = new Map<string, number>();
  const waiting = new Set<{ network: string; go: () => void }>();

  const isFreeFor = (network: string): boolean =>
    free > 0 && (network === '' || (usedBy.get(network) ?? 0) < ofNetworkMax);

  function use(network: string): void {
    free--;
    usedBy.set(network, (usedBy.get(network) ?? 0) + 1);
  }

  return {
    /** Resolves when there is a place; rejects when `end` aborts before. */
    async take(network: string, end: AbortSignal): Promise<void> {
      if (isFreeFor(network)) return use(network);
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.delete(waiter);
          reject(end.reason);
        };
        const go = () => {
          end.removeEventListener('abort', leave);
          resolve();
        };
        const waiter = { network, go };
        end.addEventListener('abort', leave, { once: true });
        waiting.add(waiter);
      });
    },

    giveBack(network: string): void {
      free++;
      const left = (usedBy.get(network) ?? 0) - 1;
      if (left > 0) usedBy.set(network, left);
      else usedBy.delete(network);
      for (const waiter of waiting) {
        if (!isFreeFor(waiter.network)) continue;
        waiting.delete(waiter);
        use(waiter.network);
        waiter.go();
        return;
      }
    },
  };
}
