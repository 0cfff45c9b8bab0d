import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';

/** User and group that the stores run under; null = the ones of this process. */
export type Account = { uid: number; gid: number } | null;

/**
 * PostgreSQL refuses to run as root, and the others need not: when this process is root the stores run as `nobody`, or
 * as the user who owns the file if that is another one than root, since that user made the data.
 */
export function resolveAccount(file: string): Account {
  if (process.getuid?.() !== 0) return null;
  const owner = existsSync(file) ? statSync(file) : null;
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const nobody = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+):/m);
  if (!nobody) throw new Error('Start as another user than root: the system has no account "nobody" for the stores.');
  return { uid: Number(nobody[1]), gid: Number(nobody[2]) };
}

/** A program to start. */
export type Command = {
  file: string;
  args: string[];
  /** Its working directory, which holds its data. */
  directory: string;
  /** Files that it must be able to read, besides those in its directory. */
  reads: string[];
};

/** The command as node:child_process takes it. */
export type SpawnPlan = {
  file: string;
  args: string[];
  options: { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };
};

/**
 * How to run the command under the account, also where program or data lie below a directory that is closed to it (a
 * checkout in /root): then the process keeps, of all rights of root, only the one to pass what is closed.
 */
export function planSpawn(command: Command, account: Account): SpawnPlan {
  const { file, args, directory } = command;
  // Nothing of this process's environment: PGDATA, NODE_OPTIONS and the like would reach the stores.
  const options = { cwd: directory, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
  if (!account) return { file, args, options };
  if (isReachable(command, account)) return { file, args, options: { ...options, ...account } };

  const setpriv = [
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // Trap: access(2), which PostgreSQL asks about itself, ignores the capability of a process whose real user is not
    // root.
    '--securebits=+no_setuid_fixup',
  ];
  if (spawnSync('setpriv', [...setpriv, 'true']).status !== 0) {
    throw new Error(
      `${directory} or ${file} is closed to the account with uid ${account.uid}, and PostgreSQL does not run as root. ` +
        'Set DATA_DIR to a directory that everybody may enter, or start as another user than root.',
    );
  }
  return { file: 'setpriv', args: [...setpriv, file, ...args], options };
}

function isReachable({ file, directory, reads }: Command, account: { uid: number; gid: number }): boolean {
  const script = 'test -x "$1" && test -w "$2" && shift 2 && for file; do test -r "$file" || exit 1; done';
  const args = ['-c', script, 'sh', file, directory, ...reads];
  return spawnSync('/bin/sh', args, { cwd: '/', ...account }).status === 0;
}
