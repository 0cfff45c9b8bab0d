import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, resolveAccount } from './account.ts';
import { choosePort, isFree } from './ports.ts';
import { endOrphan, startStoreProcess } from './store-process.ts';

const progressAfterMs = 2_000;
const startAttempts = 3;

export type StoreName = 'postgres' | 'clickhouse' | 'redis';
export const storeTitle = { postgres: 'PostgreSQL', clickhouse: 'ClickHouse', redis: 'Redis' } as const;

export type StartedStore = { url: string; stop(): Promise<void> };

type StoreHostOptions = {
  dataDir: string;
  ports: Partial<Record<StoreName, number>>;
  onProgress: (message: string) => void;
  log: (message: string) => void;
};

/** How to run one store, given its port. */
export type StoreRecipe = {
  stopSignal: NodeJS.Signals;
  command(port: number): Command;
  /** Rejects as long as the store does not answer. */
  probe(port: number): Promise<unknown>;
};

export type StoreHost = ReturnType<typeof createStoreHost>;

/** What the three stores have in common: directories, account, ports, process ids, log files. Files: <dataDir>/{run,logs}/<store>.* */
export function createStoreHost({ dataDir, ports, onProgress, log }: StoreHostOptions) {
  const account = resolveAccount();
  for (const directory of ['run', 'logs']) mkdirSync(join(dataDir, directory), { recursive: true });

  /** A directory of the account that the stores run under. */
  function makeDirectory(name: string): string {
    const directory = join(dataDir, name);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (account) chownSync(directory, account.uid, account.gid);
    return directory;
  }

  /** Runs the work and, if it takes long, says so. */
  async function withProgress<T>(store: StoreName, work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => onProgress(`Preparing ${storeTitle[store]} …`), progressAfterMs);
    return work().finally(() => clearTimeout(timer));
  }

  async function start(store: StoreName, recipe: StoreRecipe): Promise<{ port: number; stop(): Promise<void> }> {
    const pidFile = join(dataDir, 'run', `${store}.pid`);
    await endOrphan(pidFile, recipe.stopSignal);
    const logFile = join(dataDir, 'logs', `${store}.log`);
    if (existsSync(logFile)) renameSync(logFile, `${logFile}.previous`);
    for (let attempt = 1; ; attempt++) {
      const port = await portOf(store);
      const program = {
        name: storeTitle[store],
        command: recipe.command(port),
        account,
        stopSignal: recipe.stopSignal,
        probe: () => recipe.probe(port),
        pidFile,
        logFile,
      };
      try {
        return { port, ...(await startStoreProcess(program, log)) };
      } catch (error) {
        // Someone else may have taken the port since it was found free.
        if (ports[store] || attempt === startAttempts || (await isFree(port))) throw error;
      }
    }
  }

  async function portOf(store: StoreName): Promise<number> {
    const given = ports[store];
    if (given) {
      if (await isFree(given)) return given;
      throw new Error(`Port ${given} for ${storeTitle[store]} is taken.`);
    }
    const file = join(dataDir, 'run', `${store}.port`);
    const port = await choosePort(existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined);
    writeFileSync(file, String(port));
    return port;
  }

  return { dataDir, account, onProgress, makeDirectory, withProgress, start };
}
