import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

/** Runs a process whose start is this, and gives its exit code and all that it printed. */
async function run(start: string): Promise<[code: number, output: string]> {
  const program = `
    import { runProcess, StartError } from ${JSON.stringify(new URL('./process.ts', import.meta.url).href)};
    import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
    runProcess({ logger: createLogger({ service: 'test', level: 'warn' }) }, async (life) => { ${start} });
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const [code] = await once(child, 'close');
  return [code, output];
}

test('a start that fails for a reason that can be mended says it in one line and exits with 1', async () => {
  expect(await run(`throw new StartError('The port is taken.');`)).toEqual([1, 'The port is taken.\n']);
});

test('what a start says that is stopped is no failure', async () => {
  const stopped = `
    await new Promise((_, fail) => {
      life.onStop('store', () => {
        fail(new StartError('The store cannot be used.'));
        return new Promise((stopped) => setImmediate(stopped));
      });
      setInterval(() => {}, 60_000);
      process.kill(process.pid, 'SIGTERM');
    });
  `;
  expect(await run(stopped)).toEqual([0, '']);
});
