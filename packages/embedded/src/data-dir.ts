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
import { type Account, resolveAccount } from './account.ts';
import { keepSecret } from './kept-secret.ts';
import { endOrphan, writePidFile } from './pid-file.ts';

/**
 * A directory that holds all that the stores keep: their data in one directory each, `password`, `run` with their
 * process ids, ports and addresses, `logs`.
 */
export type DataDir = ReturnType<typeof openDataDir>;

export function openDataDir(path: string) {
  const passwordFile = join(path, 'password');
  const account = resolveAccount(passwordFile);
  const run = join(path, 'run');
  const logs = join(path, 'logs');
  for (const directory of [run, logs]) mkdirSync(directory, { recursive: true });
  const handOver = (file: string) => giveTo(account, file);

  return {
    path,
    /** Whom the data belong to and the stores run under. */
    account,
    /**
     * Loopback is open to every user and every program of the machine, so that all three stores ask for a password. One
     * that is there is never replaced: the stores know no other.
     */
    password: existsSync(passwordFile) ? readFileSync(passwordFile, 'utf8').trim() : keepSecret(passwordFile),

    /** A directory of the stores; made if absent. */
    makeDirectory(name: string): string {
      mkdirSync(join(path, name), { recursive: true, mode: 0o700 });
      return handOver(join(path, name));
    },
    /** Writes a file of the stores that nobody else may read. */
    writeFile(file: string, content: string): string {
      writeFileSync(file, content, { mode: 0o600 });
      return handOver(file);
    },

    /** An empty log file; the one of the last start gets the suffix `.previous`. */
    openLogFile(store: string): string {
      const file = join(logs, `${store}.log`);
      if (existsSync(file)) renameSync(file, `${file}.previous`);
      return file;
    },
    /** Notes the process of a store, or with null that it has none, for `endOrphans` in a later run. */
    notePid(store: string, pid: number | null): void {
      const file = join(run, `${store}.pid`);
      if (pid === null) rmSync(file, { force: true });
      else writePidFile(file, pid);
    },
    readPort(store: string): number | undefined {
      const file = join(run, `${store}.port`);
      return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
    },
    notePort(store: string, port: number): void {
      const file = join(run, `${store}.port`);
      writeFileSync(file, String(port));
      handOver(file);
    },
    /**
     * Notes where the stores that run here answer, passwords included, for whoever may read it; null: none does any
     * more.
     */
    noteAddresses(addresses: Partial<Record<'databaseUrl' | 'clickhouseUrl' | 'redisUrl', string>> | null): void {
      const file = join(run, 'stores.json');
      if (addresses) writeFileSync(file, JSON.stringify(addresses), { mode: 0o600 });
      else rmSync(file, { force: true });
    },
  };
}

/** Ends the stores of an earlier run on the data directory whose process was killed. */
export async function endOrphans(dataDir: string): Promise<void> {
  const run = join(dataDir, 'run');
  const names = existsSync(run) ? readdirSync(run).filter((name) => name.endsWith('.pid')) : [];
  await Promise.all(names.map((name) => endOrphan(join(run, name))));
}

function giveTo(account: Account, file: string): string {
  if (account) chownSync(file, account.uid, account.gid);
  return file;
}
