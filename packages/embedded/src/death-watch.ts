import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Reads lines `<store> <process id>`, one for each new process and one without an id for each that was stopped. Its
 * standard input ends with the process that writes it: then it ends the stores that are left.
 */
const script = `
  while read -r store pid; do eval "$store=$pid"; done
  kill -INT $postgres $clickhouse $redis
`;

/**
 * Ends the stores when this process dies without stopping them, by SIGKILL for example. For that a small shell process
 * waits beside it, in a process group of its own so that Ctrl-C does not reach it.
 */
export function createDeathWatch() {
  const watcher = spawn('/bin/sh', ['-c', script], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  watcher.on('error', () => {}); // the next start ends what is left as well
  watcher.stdin.on('error', () => {});
  return {
    note: (store: string, pid: number | null) => void watcher.stdin.write(`${store} ${pid ?? ''}\n`),
    async end(): Promise<void> {
      watcher.stdin.end();
      if (watcher.pid && watcher.exitCode === null && watcher.signalCode === null) await once(watcher, 'exit');
    },
  };
}
