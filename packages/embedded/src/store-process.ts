import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SpawnPlan } from './account.ts';

/** Makes PostgreSQL, Redis and the ClickHouse process all end in order and without waiting for their clients. */
export const stopSignal = 'SIGINT';
const readyTimeoutMs = 300_000;
const stopTimeoutMs = 10_000;
const restartDelaysMs = [100, 200, 500, 1_000, 2_000, 5_000];

/** One store, ready to be run. */
type StoreProgram = {
  name: string;
  plan: SpawnPlan;
  /** Rejects as long as the store does not answer. */
  probe(): Promise<unknown>;
  /** Hears the id of each new process of the store, and null when it has been stopped. */
  note(pid: number | null): void;
  logFile: string;
};

export type RunningStore = { stop(): Promise<void> };

/**
 * Starts a store, resolves once it answers, and from then on starts it again whenever it dies.
 * @param log hears of deaths, one sentence each
 */
export async function startStoreProcess(program: StoreProgram, log: (message: string) => void): Promise<RunningStore> {
  const logFd = openSync(program.logFile, 'a', 0o600);
  let child = spawnStore(program.plan, logFd);
  const stopping = new AbortController();

  async function untilRunning(): Promise<void> {
    if (child.pid) program.note(child.pid);
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
    closeSync(logFd);
    program.note(null);
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
    stdio: ['ignore', logFd, logFd],
  });
  child.on('error', () => {}); // the program cannot be run: told by deathOf
  return child;
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
  const death = deathOf(child);
  for (;;) {
    const answers = program.probe().then(
      () => true,
      () => false,
    );
    const isReady = await Promise.race([answers, death]);
    if (hasEnded(child)) throw startFailure(program, `it ended: ${await death}`);
    if (isReady) return;
    if (performance.now() > deadlineMs) throw startFailure(program, 'it does not answer');
    await sleep(50);
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
