import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findStartTime } from './process-identity.ts';
import { stopSignal } from './store-process.ts';

const endTimeoutMs = 10_000;

/** Notes a process for `endOrphan`, which may run after the computer and its process ids have started anew. */
export function writePidFile(file: string, pid: number): void {
  writeFileSync(file, JSON.stringify({ pid, startTime: findStartTime(pid) }));
}

/** Ends the process noted in the file if it is still there: an earlier run was killed and left it behind. */
export async function endOrphan(pidFile: string): Promise<void> {
  const orphan = readPidFile(pidFile);
  if (!orphan) return;
  const isThere = () => findStartTime(orphan.pid) === orphan.startTime;
  for (const signal of [stopSignal, 'SIGKILL'] as const) {
    if (isThere()) process.kill(orphan.pid, signal);
    const deadlineMs = performance.now() + endTimeoutMs;
    while (isThere() && performance.now() < deadlineMs) await sleep(20);
  }
  if (isThere()) throw new Error(`Process ${orphan.pid}, left behind by an earlier run, does not end.`);
  rmSync(pidFile);
}

function readPidFile(pidFile: string): { pid: number; startTime: string } | null {
  try {
    return JSON.parse(readFileSync(pidFile, 'utf8'));
  } catch {
    return null; // there is none, or its writer died while writing
  }
}
