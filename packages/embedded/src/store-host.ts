import { type Command, planSpawn } from './account.ts';
import type { DataDir } from './data-dir.ts';
import { createDeathWatch } from './death-watch.ts';
import { choosePort, isFree } from './ports.ts';
import { type RunningStore, startStoreProcess } from './store-process.ts';

const progressAfterMs = 2_000;
const startAttempts = 3;

/** User of the embedded PostgreSQL and ClickHouse, and name of the database in both. */
export const storeUser = 'meridian';

const titles = { postgres: 'PostgreSQL', clickhouse: 'ClickHouse', redis: 'Redis' } as const;
export type StoreName = keyof typeof titles;
export const storeNames = Object.keys(titles) as readonly StoreName[];

type StoreHostOptions = {
  dataDir: DataDir;
  ports: Partial<Record<StoreName, number>>;
  onProgress: (message: string) => void;
  log: (message: string) => void;
};

/** How to run one store, given its port. */
type Recipe = {
  command(port: number): Command;
  /** Rejects as long as the store does not answer. */
  probe(port: number): Promise<unknown>;
};

export type StoreHost = ReturnType<typeof createStoreHost>;

/** What starting PostgreSQL, ClickHouse and Redis has in common. */
export function createStoreHost({ dataDir, ports, onProgress, log }: StoreHostOptions) {
  const deathWatch = createDeathWatch();
  const running: RunningStore[] = [];

  /** Does the work and, if it takes long, says so. */
  function withProgress<T>(store: StoreName, work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => onProgress(`Preparing ${titles[store]} …`), progressAfterMs);
    return work().finally(() => clearTimeout(timer));
  }

  /** Starts the store, keeps it running and returns its port. */
  async function start(store: StoreName, recipe: Recipe): Promise<number> {
    const logFile = dataDir.openLogFile(store);
    for (let attempt = 1; ; attempt++) {
      const port = await findPort(store);
      const program = {
        name: titles[store],
        plan: planSpawn(recipe.command(port), dataDir.account),
        probe: () => recipe.probe(port),
        note: (pid: number | null) => {
          deathWatch.note(store, pid);
          dataDir.notePid(store, pid);
        },
        logFile,
      };
      try {
        running.push(await startStoreProcess(program, log));
        return port;
      } catch (error) {
        // Another process may have taken the port since it was found free.
        if (attempt === startAttempts || (await isFree(port))) throw error;
      }
    }
  }

  async function findPort(store: StoreName): Promise<number> {
    const given = ports[store];
    if (given && !(await isFree(given))) throw new Error(`Port ${given} for ${titles[store]} is taken.`);
    const port = given ?? (await choosePort(dataDir.readPort(store)));
    dataDir.notePort(store, port);
    return port;
  }

  async function stopAll(): Promise<void> {
    await Promise.all(running.splice(0).map((store) => store.stop()));
    await deathWatch.end();
  }

  return { dataDir, onProgress, withProgress, start, stopAll };
}
