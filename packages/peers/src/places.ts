/** So many may be in use at a time; the others wait, first come first served. */
export function createPlaces(max: number) {
  let free = max;
  const waiting = new Set<() => void>();

  return {
    /** Resolves when there is a place; rejects when `end` aborts before. */
    async take(end: AbortSignal): Promise<void> {
      if (free > 0) {
        free--;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const go = () => {
          end.removeEventListener('abort', leave);
          resolve();
        };
        const leave = () => {
          waiting.delete(go);
          reject(end.reason);
        };
        end.addEventListener('abort', leave, { once: true });
        waiting.add(go);
      });
    },

    giveBack(): void {
      const [next] = waiting;
      if (!next) {
        free++;
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}
