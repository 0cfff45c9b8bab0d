import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Command, planSpawn, resolveAccount } from './account.ts';
import { createDeathWatch } from './death-watch.ts';
import { endOrphan, writePidFile } from './pid-file.ts';
import { choosePort, isFree } from './ports.ts';
import { startStoreProcess } from './store-process.ts';

const progressAfterMs = 2_000;
const startAttempts = 3;

/** User of the embedded PostgreSQL and ClickHouse, and name of the database in both. */
export const storeUser = 'meridian';

const titles = { postgres: 'PostgreSQL', clickhouse: 'ClickHouse', redis: 'Redis' } as const;
export type StoreName = keyof typeof titles;

type StoreHostOptions = {
  dataDir: string;
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

/** What the stores on one data directory have in common: account, password, directories, ports, process ids, log files. */
export function createStoreHost({ dataDir, ports, onProgress, log }: StoreHostOptions) {
  const account = resolveAccount();
  const runDirectory = join(dataDir, 'run');
  const logDirectory = join(dataDir, 'logs');
  for (const directory of [runDirectory, logDirectory]) mkdirSync(directory, { recursive: true });
  const password = readPassword(join(dataDir, 'password'));
  const deathWatch = createDeathWatch();
  const running: { stop(): Promise<void> }[] = [];

  /** Gives a file or directory to the account that the stores run under. */
  function handOver(path: string): string {
    if (account) chownSync(path, account.uid, account.gid);
    return path;
  }

  /** A directory of the data directory that belongs to the stores; made if absent. */
  function makeDirectory(name: string): string {
    const directory = join(dataDir, name);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return handOver(directory);
  }

  /** A file with that content that belongs to the stores and that nobody else reads. */
  function writeFile(directory: string, name: string, content: string): string {
    const file = join(directory, name);
    writeFileSync(file, content, { mode: 0o600 });
    return handOver(file);
  }

  /** Does the work and, if it takes long, says so. */
  function withProgress<T>(store: StoreName, work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => onProgress(`Preparing ${titles[store]} …`), progressAfterMs);
    return work().finally(() => clearTimeout(timer));
  }

  /** Starts the store, keeps it running and returns its port. */
  async function start(store: StoreName, recipe: Recipe): Promise<number> {
    const logFile = join(logDirectory, `${store}.log`);
    if (existsSync(logFile)) renameSync(logFile, `${logFile}.previous`);
    for (let attempt = 1; ; attempt++) {
      const port = await findPort(store);
      const program = {
        name: titles[store],
        plan: planSpawn(recipe.command(port), account),
        probe: () => recipe.probe(port),
        note: (pid: number | null) => note(store, pid),
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

  /** Makes sure that the process is ended if this one dies: by the watch at once, or else by the next start. */
  function note(store: StoreName, pid: number | null): void {
    deathWatch.note(store, pid);
    const file = join(runDirectory, `${store}.pid`);
    if (pid === null) rmSync(file, { force: true });
    else writePidFile(file, pid);
  }

  async function findPort(store: StoreName): Promise<number> {
    const given = ports[store];
    if (given) {
      if (await isFree(given)) return given;
      throw new Error(`Port ${given} for ${titles[store]} is taken.`);
    }
    const file = join(runDirectory, `${store}.port`);
    const port = await choosePort(existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined);
    writeFileSync(file, String(port));
    return port;
  }

  async function stopAll(): Promise<void> {
    await Promise.all(running.splice(0).map((store) => store.stop()));
    await deathWatch.end();
  }

  return { dataDir, account, password, onProgress, makeDirectory, writeFile, withProgress, start, stopAll };
}

/** Ends the stores of an earlier run on the data directory whose process was killed. */
export async function endOrphans(dataDir: string): Promise<void> {
  const directory = join(dataDir, 'run');
  const names = existsSync(directory) ? readdirSync(directory) : [];
  await Promise.all(names.filter((name) => name.endsWith('.pid')).map((name) => endOrphan(join(directory, name))));
}

/** Loopback is open to every user and every program of the machine, so that all three stores ask for a password. */
function readPassword(file: string): string {
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, randomBytes(24).toString('base64url'), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, 'utf8');
}
