import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, type Command, planSpawn } from './account.ts';
import { findStartTime } from './process-identity.ts';

const readyTimeoutMs = 300_000;
const stopTimeoutMs = 10_000;
const restartDelaysMs = [100, 200, 500, 1_000, 2_000, 5_000];

/** One store, ready to be run. */
export type StoreProgram = {
  name: string;
  command: Command;
  account: Account;
  /** Signal that makes it end in an orderly way and quickly. */
  stopSignal: NodeJS.Signals;
  /** Rejects as long as the store does not answer. */
  probe(): Promise<unknown>;
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
  let child = launch(program);
  let isStopping = false;
  try {
    await untilReady(program, child);
  } catch (error) {
    await endChild(child, program.stopSignal);
    throw error;
  }

  const keepRunning = async () => {
    let failures = 0;
    for (;;) {
      const death = await deathOf(child);
      if (isStopping) return;
      log(`${program.name} ended unexpectedly (${death}) and is started again.`);
      await sleep(restartDelaysMs[Math.min(failures++, restartDelaysMs.length - 1)]);
      if (isStopping) return;
      child = launch(program);
      await untilReady(program, child).then(
        () => (failures = 0),
        () => child.kill('SIGKILL'),
      );
    }
  };
  const guard = keepRunning();

  return {
    async stop() {
      isStopping = true;
      await endChild(child, program.stopSignal);
      await guard;
      rmSync(program.pidFile, { force: true });
    },
  };
}

function launch(program: StoreProgram): ChildProcess {
  const { file, args, options } = planSpawn(program.command, program.account);
  const logFd = openSync(program.logFile, 'a', 0o600);
  const child = spawn(file, args, {
    ...options,
    // A process group of its own: Ctrl-C in a terminal must not reach the stores before the services have stopped.
    detached: true,
    // The ClickHouse process ends itself when this pipe breaks; the others do not read it.
    stdio: ['pipe', logFd, logFd],
  });
  closeSync(logFd);
  child.on('error', () => {}); // the program cannot be started: told by deathOf
  child.stdin?.on('error', () => {});
  if (child.pid)
    writeFileSync(program.pidFile, JSON.stringify({ pid: child.pid, startTime: findStartTime(child.pid) }));
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
  for (;;) {
    const answers = await program.probe().then(
      () => true,
      () => false,
    );
    // Looked at after the answer: it may have come from a stranger on the same port.
    if (hasEnded(child)) throw startFailure(program, `it ended: ${await deathOf(child)}`);
    if (answers) return;
    if (performance.now() > deadlineMs) throw startFailure(program, 'it does not answer');
    await sleep(50);
  }
}

function startFailure({ name, logFile }: StoreProgram, reason: string): Error {
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-10);
  return new Error(`${name} did not start (${reason}). The end of ${logFile}:\n${lines.join('\n')}`);
}

async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exit;
  clearTimeout(timer);
}

/** Ends the store that an earlier run left behind when it was killed, if it is still there. */
export async function endOrphan(pidFile: string, stopSignal: NodeJS.Signals): Promise<void> {
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

function readPidFile(pidFile: string): { pid: number; startTime: string | null } | null {
  try {
    return JSON.parse(readFileSync(pidFile, 'utf8'));
  } catch {
    return null; // there is none, or its writer died while writing
  }
}
