/** Tells on the terminal what a start waits for, but only what takes longer than two seconds. */
export type Progress = {
  /** Runs a step; its text is shown when it has not ended after two seconds, and again how long it took. */
  step<T>(text: string, work: () => Promise<T>): Promise<T>;
};

export function createProgress(print: (line: string) => void, showAfterMs = 2_000): Progress {
  return {
    async step(text, work) {
      const startedAtMs = performance.now();
      let shown = false;
      const timer = setTimeout(() => {
        shown = true;
        print(`${text} …`);
      }, showAfterMs);
      try {
        const result = await work();
        if (shown) print(`${text}: done in ${Math.round((performance.now() - startedAtMs) / 1_000)} s`);
        return result;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
