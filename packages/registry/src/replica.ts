import type { Database } from './database.ts';
import { RegistryError } from './registry-error.ts';

/** How often a primary that is away is looked for. */
const lookMs = 1_000;
/** A primary that has not answered a question has so long to answer a ping. */
const pingMaxMs = 1_000;

type Ask<Args extends unknown[], Result> = (db: Database, ...args: Args) => Promise<Result>;
type Run = <Result>(db: Database, ask: (db: Database) => Promise<Result>) => Promise<Result>;

/**
 * Questions that change nothing: asked of the primary and, once that is known to be away, of its replica without a
 * wait. What the primary cannot answer the replica is asked too, but the primary is away only when it does not answer a
 * ping soon after that either: one question that takes too long is not an outage for all. A replica may be behind, so
 * `onAnswer` hears of each of its answers before the asker does. Without a replica the primary alone is asked. `run`
 * gives an answer its time limit and its errors; `ping` is what a primary that is there answers.
 */
export function createReading(
  { primary, replica }: { primary: Database; replica: Database | null },
  { run, ping, onAnswer }: { run: Run; ping: (db: Database) => Promise<void>; onAnswer: () => void },
) {
  let isAway = false;
  let looking: NodeJS.Timeout | undefined;

  function lookForPrimary(afterMs: number): void {
    looking ??= setTimeout(async () => {
      const late = setTimeout(() => {
        isAway = true;
      }, pingMaxMs).unref();
      const isBack = await run(primary, ping).then(
        () => true,
        () => false,
      );
      clearTimeout(late);
      if (looking === undefined) return; // closed meanwhile
      looking = undefined;
      isAway = !isBack;
      if (isAway) lookForPrimary(lookMs);
    }, afterMs).unref();
  }

  return {
    reading:
      <Args extends unknown[], Result>(ask: Ask<Args, Result>) =>
      async (...args: Args): Promise<Result> => {
        const askOf = (db: Database) => ask(db, ...args);
        if (!replica) return run(primary, askOf);
        if (!isAway) {
          try {
            return await run(primary, askOf);
          } catch (error) {
            if (!(error instanceof RegistryError) || error.kind !== 'unavailable') throw error;
            lookForPrimary(0);
          }
        }
        const answer = await run(replica, askOf);
        onAnswer();
        // It may be too new for a replica: an outage must not look like something unknown.
        if (answer === null) throw new RegistryError('unavailable', 'Unknown to the replica, and the primary is away');
        return answer;
      },
    close: (): void => {
      clearTimeout(looking);
      looking = undefined;
    },
  };
}
