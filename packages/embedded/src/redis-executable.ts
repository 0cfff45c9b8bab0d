import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const names = ['redis-server', 'valkey-server'];

/**
 * Path of a Redis (or Valkey) server that knows all commands in use. Where there is none and the system is Debian or
 * Ubuntu and this process is root, the package is installed; otherwise an error says what to install.
 * @param onProgress hears that an installation began
 */
export async function resolveRedisExecutable(onProgress: (message: string) => void): Promise<string> {
  const found = await findOnPath();
  if (found) return found;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(`There is no Redis here. ${advice}`);
  onProgress('Installing Redis (apt-get install redis-server) …');
  await install();
  const installed = await findOnPath();
  if (!installed) throw new Error(`The Redis of this system is too old. ${advice}`);
  return installed;
}

const advice =
  'Install Redis 7.0 or newer, or Valkey (Debian and Ubuntu: apt-get install redis-server; Fedora: dnf install valkey; ' +
  'macOS: brew install redis), so that redis-server or valkey-server is on the PATH, or set REDIS_URL to a running server.';

async function findOnPath(): Promise<string | null> {
  for (const name of names) {
    const answer = await run('/bin/sh', ['-c', `command -v ${name} && ${name} --version`]).catch(() => null);
    const [executable, version] = answer?.stdout.split('\n') ?? [];
    if (executable && version && isRecent(version)) return executable;
  }
  return null;
}

/** Scripts that may run though Redis is full (flag allow-oom), which drain the event log, came with 7.0. */
function isRecent(version: string): boolean {
  return Number(version.match(/v=(\d+)/)?.[1]) >= 7;
}

async function install(): Promise<void> {
  // RUNLEVEL=1 keeps the package from starting a server of its own on port 6379; under systemd it has to be switched
  // off again.
  const aptGet = (...args: string[]) =>
    run('env', ['RUNLEVEL=1', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=120', ...args]);
  try {
    await aptGet('update').catch(() => {}); // one broken source of many makes it fail
    await aptGet('install', '-y', '--no-install-recommends', 'redis-server');
    if (existsSync('/run/systemd/system')) await run('systemctl', ['disable', '--now', 'redis-server']);
  } catch (cause) {
    throw new Error(`Redis could not be installed. ${advice}\n${cause}`, { cause });
  }
}
