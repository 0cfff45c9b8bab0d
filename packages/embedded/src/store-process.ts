import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SpawnPlan } from './account.ts';
import { findStartTime } from './process-identity.ts';

/** The one signal that makes PostgreSQL, Redis and the ClickHouse process all end in order and without waiting for their clients. */
const stopSignal = 'SIGINT';
const readyTimeoutMs = 300_000;
const stopTimeoutMs = 10_000;
const restartDelaysMs = [100, 200, 500, 1_000, 2_000, 5_000];

/** One store, ready to be run. */
export type StoreProgram = {
  name: string;
  plan: SpawnPlan;
  /** Rejects as long as the store does not answer. */
  probe(): Promise<unknown>;
  /** Where the process is noted, for `endOrphan` after this process was killed. */
  pidFile: string;
  logFile: string;
};

/**
 * Starts a store, resolves once it answers, and from then on starts it again whenever it dies.
 * @param log hears of deaths, one sentence each
 */
export async function startStoreProcess(
  program: StoreProgram,
  log: (message: string) => void,
): Promise<{ stop(): Promise<void> }> {
  const logFd = openSync(program.logFile, 'a', 0o600);
  let child = spawnStore(program.plan, logFd);
  const stopping = new AbortController();
  // Runs when this process exits without having stopped the store, because something went wrong.
  const endWithProcess = () => child.kill(stopSignal);
  process.on('exit', endWithProcess);

  async function untilRunning(): Promise<void> {
    notePid(program.pidFile, child);
    await untilReady(program, child);
  }

  async function restartWheneverDead(): Promise<void> {
    let failures = 0;
    for (;;) {
      const death = await deathOf(child);
      if (stopping.signal.aborted) return;
      log(`${program.name} ended unexpectedly (${death}) and is started again.`);
      const delayMs = restartDelaysMs[Math.min(failures++, restartDelaysMs.length - 1)];
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        child = spawnStore(program.plan, logFd);
        await untilRunning();
        failures = 0;
      } catch {
        child.kill('SIGKILL'); // whatever it was, such as a full disk: tried again
      }
    }
  }

  let restarts = Promise.resolve();
  async function stop(): Promise<void> {
    stopping.abort();
    await endChild(child);
    await restarts;
    process.off('exit', endWithProcess);
    closeSync(logFd);
    rmSync(program.pidFile, { force: true });
  }

  try {
    await untilRunning();
  } catch (error) {
    await stop();
    throw error;
  }
  restarts = restartWheneverDead();
  return { stop };
}

function spawnStore({ file, args, options }: SpawnPlan, logFd: number): ChildProcess {
  const child = spawn(file, args, {
    ...options,
    // A process group of its own: Ctrl-C in a terminal must not reach the stores before the services have stopped.
    detached: true,
    // The ClickHouse process ends itself when this pipe breaks; the others do not read it.
    stdio: ['pipe', logFd, logFd],
  });
  child.on('error', () => {}); // the program cannot be run: told by deathOf
  child.stdin?.on('error', () => {});
  return child;
}

function notePid(pidFile: string, { pid }: ChildProcess): void {
  if (pid) writeFileSync(pidFile, JSON.stringify({ pid, startTime: findStartTime(pid) }));
}

const hasEnded = (child: ChildProcess) =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** Resolves when the process has ended, with the way it did in words. */
async function deathOf(child: ChildProcess): Promise<string> {
  if (!hasEnded(child)) await once(child, 'exit');
  return child.signalCode ?? (child.pid ? `exit code ${child.exitCode}` : `${child.spawnfile} cannot be run`);
}

async function untilReady(program: StoreProgram, child: ChildProcess): Promise<void> {
  const deadlineMs = performance.now() + readyTimeoutMs;
  for (;;) {
    if (hasEnded(child)) throw startFailure(program, `it ended: ${await deathOf(child)}`);
    if (performance.now() > deadlineMs) throw startFailure(program, 'it does not answer');
    try {
      await program.probe();
      return;
    } catch {
      await sleep(50);
    }
  }
}

function startFailure({ name, logFile }: StoreProgram, reason: string): Error {
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-10);
  return new Error(`${name} did not start (${reason}). The end of ${logFile}:\n${lines.join('\n')}`);
}

async function endChild(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.kill(stopSignal);
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exit;
  clearTimeout(timer);
}

/** Ends the process noted in the file if it is still there: an earlier run was killed and left it behind. */
export async function endOrphan(pidFile: string): Promise<void> {
  const orphan = readPidFile(pidFile);
  if (!orphan) return;
  const isThere = () => findStartTime(orphan.pid) === orphan.startTime;
  for (const signal of [stopSignal, 'SIGKILL'] as const) {
    if (isThere()) process.kill(orphan.pid, signal);
    const deadlineMs = performance.now() + stopTimeoutMs;
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
