import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

export type Process = {
  readonly pid: number;
  /** Everything printed so far, both streams. */
  output(): string;
  running(): boolean;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code; null after a signal. */
  exited: Promise<number | null>;
};

/** A test file that breaks off must not leave its processes behind. */
const started = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

/**
 * Starts a command in the project's root. Only the variables given and those of the system reach it. `ownGroup`: as a
 * terminal starts it, so that `kill(-pid)` is Ctrl-C.
 */
export function startProcess(command: string, args: string[], env: Record<string, string>, ownGroup = false): Process {
  const { PATH = '', HOME = '', LANG = '' } = process.env;
  const child: ChildProcess = spawn(command, args, {
    cwd: root,
    env: { PATH, HOME, LANG, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: ownGroup,
  });
  started.add(child);
  child.once('exit', () => started.delete(child));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    pid: child.pid ?? 0,
    output: () => output,
    running: () => child.exitCode === null && child.signalCode === null,
    kill: (signal) => child.kill(signal),
    exited,
  };
}

/** A service as in production: its own process, with everything it needs in the environment. */
export const startService = (name: 'ingest' | 'worker' | 'query', env: Record<string, string>): Process =>
  startProcess(process.execPath, ['--import', 'tsx', `services/${name}/src/main.ts`], env);

/** @throws with the process's output when it ends before it is ready */
export async function untilReady(service: Process, url: string, timeoutMs = 60_000): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    if (!service.running()) throw new Error(`ended before it was ready:\n${service.output()}`);
    const ready = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    if (Date.now() > deadlineMs) throw new Error(`${url} not ready in ${timeoutMs} ms:\n${service.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
