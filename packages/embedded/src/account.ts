import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** User and group that the stores run under; null = the ones of this process. */
export type Account = { uid: number; gid: number } | null;

/** PostgreSQL refuses to run as root, and the others need not: when this process is root the stores run as `nobody`. */
export function resolveAccount(): Account {
  if (process.getuid?.() !== 0) return null;
  const nobody = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+):/m);
  if (!nobody) throw new Error('Run as another user than root: the system has no account "nobody" for the stores.');
  return { uid: Number(nobody[1]), gid: Number(nobody[2]) };
}

/** A program to start. `directory` is its working directory and holds its data. */
export type Command = { file: string; args: string[]; directory: string };

/** What child_process.spawn needs to run the command under an account. */
export type SpawnPlan = {
  file: string;
  args: string[];
  options: { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };
};

/**
 * How to run the command under the account, also where program or data lie below a directory that is closed to it (a checkout in
 * /root): then the process keeps, of all rights of root, only the one to pass closed directories.
 */
export function planSpawn({ file, args, directory }: Command, account: Account): SpawnPlan {
  // Nothing of this process's environment: PGDATA, NODE_OPTIONS and the like would reach the stores.
  const options = { cwd: directory, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
  if (!account) return { file, args, options };
  if (isReachable(file, directory, account)) return { file, args, options: { ...options, ...account } };
  const rights = [
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // Trap: access(2) ignores the capability of a process whose real user is not root, and PostgreSQL calls it on itself.
    '--securebits=+no_setuid_fixup',
  ];
  if (spawnSync('setpriv', [...rights, 'true']).status !== 0) {
    throw new Error(
      `${file} and ${directory} must be open to the account with uid ${account.uid}, since PostgreSQL does not run as root. ` +
        'Set DATA_DIR to a directory that others may enter (mode 0755 all the way up), or start as another user than root.',
    );
  }
  return { file: 'setpriv', args: [...rights, file, ...args], options };
}

function isReachable(file: string, directory: string, account: { uid: number; gid: number }): boolean {
  const probe = spawnSync('/bin/sh', ['-c', 'test -x "$1" && test -w "$2"', 'sh', file, directory], {
    cwd: '/',
    ...account,
  });
  return probe.status === 0;
}
