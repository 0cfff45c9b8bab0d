import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process with this id began, in a form that only serves to be compared; null when there is no such process (a
 * zombie counts as gone). Process id and start time together name one process for ever, whereas ids are used again.
 */
export function findStartTime(pid: number): string | null {
  const stat = readProcStat(pid);
  if (stat === undefined) return findStartTimeByPs(pid);
  if (stat === null) return null;
  // The second field is the program's name in parentheses and may hold anything; the rest is separated by blanks.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? null : (rest[18] ?? null);
}

/** Content of /proc/<pid>/stat, null when there is no such process, undefined when the system has no /proc. */
function readProcStat(pid: number): string | null | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return process.platform === 'linux' ? null : undefined;
  }
}

function findStartTimeByPs(pid: number): string | null {
  const args = ['LC_ALL=C', 'TZ=UTC', 'ps', '-o', 'stat=,lstart=', '-p', String(pid)];
  const { stdout } = spawnSync('env', args, { encoding: 'utf8' });
  const [state, ...started] = (stdout ?? '').trim().split(/\s+/);
  return !state || state.startsWith('Z') ? null : started.join(' ');
}
