import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@meridian/embedded/ports';
import { afterAll, expect, test } from 'vitest';
import { logIn, request } from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Process, root, startProcess, untilReady } from '../processes.ts';

const run = promisify(execFile);
const dataDir = await mkdtemp(join(tmpdir(), 'meridian-start-'));
const port = await freePort();
const base = `http://localhost:${port}/api`;
const started: Process[] = [];

function npmStart(env: Record<string, string> = {}): Process {
  const process = startProcess('npm', ['start'], { DATA_DIR: dataDir, PORT: String(port), ...env }, true);
  started.push(process);
  return process;
}

/** Command lines of the processes of this machine that name the data directory; the system's view of what is left. */
async function processesOfDataDir(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(dataDir));
}

/** npm and its shell stand between the test and the process that matters. */
async function pidOfMeridian(): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [command, environment] = await Promise.all(
      ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    if (command?.includes('services/standalone/src/main.ts') && environment?.includes(`DATA_DIR=${dataDir}`)) {
      if (!command.startsWith('sh')) return Number(pid);
    }
  }
  throw new Error('not running');
}

/** What a user sees: wait for the line, then read the whole text. */
async function untilWelcome(process: Process): Promise<string[]> {
  await untilReady(process, `${base}/heartbeat`);
  const deadlineMs = Date.now() + 10_000;
  while ((process.output().match(/^curl /gm)?.length ?? 0) < 4) {
    if (Date.now() > deadlineMs) throw new Error(`no welcome:\n${process.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.output().split('\n');
}

afterAll(async () => {
  for (const process of started.filter((each) => each.running())) {
    process.kill('SIGTERM');
    await process.exited;
  }
  await rm(dataDir, { recursive: true, force: true });
});

let password = '';

test('a first start prints the address, the administrator and curl lines that work one after the other', async () => {
  const lines = await untilWelcome(npmStart());
  expect(lines).toContain(`Meridian is ready at http://localhost:${port}`);
  const administrator = lines.find((line) => line.startsWith('Administrator: ')) ?? '';
  password = /^Administrator: admin \/ (\S{12,})$/.exec(administrator)?.[1] ?? '';
  expect(password).not.toBe('');

  const answers = [];
  for (const line of lines.filter((each) => each.startsWith('curl '))) {
    answers.push((await run('bash', ['-c', line], { cwd: root })).stdout);
  }
  const [login, website, sent, stats] = answers;
  expect(login).toBe('');
  expect(JSON.parse(website ?? '')).toMatchObject({ name: 'My website', domain: 'example.com' });
  expect(JSON.parse(sent ?? '')).toMatchObject({ sessionId: expect.any(String), visitId: expect.any(String) });
  expect(JSON.parse(stats ?? '')).toEqual({ pageviews: 1, visitors: 1, visits: 1, bounces: 1, totaltime: 0 });
});

test('a second start on the same data says so and exits with 1, and the first goes on', async () => {
  const second = npmStart({ PORT: String(await freePort()) });
  expect(await second.exited).toBe(1);
  expect(second.output()).toMatch(/in use|already running/i);
  expect((await request('GET', `${base}/heartbeat`)).body).toEqual({ ok: true });
});

test('the meridian command finds the stores of a running start by its data directory', async () => {
  const { code, stdout, stderr } = await runMeridian({ DATA_DIR: dataDir }, 'doctor');
  expect([code, stderr], stdout).toEqual([0, '']);
  expect(stdout).toMatch(/^OK +accounting +1 accepted = 1 stored /m);
});

test('SIGTERM stops everything in order and leaves no process behind', async () => {
  const [first] = started;
  first?.kill('SIGTERM');
  await first?.exited;
  expect(await processesOfDataDir()).toEqual([]);
  expect((await runMeridian({ DATA_DIR: dataDir }, 'dead-letters', 'list')).stderr).toContain('REDIS_URL is not set');
});

test('Ctrl-C, which reaches every process of the terminal, stops everything in order and leaves nothing behind', async () => {
  const running = npmStart();
  await untilWelcome(running);
  process.kill(-running.pid, 'SIGINT');
  await running.exited;
  expect(await processesOfDataDir()).toEqual([]);
  expect((await readdir(join(dataDir, 'run'))).filter((file) => file.endsWith('.pid'))).toEqual([]);
});

test('SIGTERM in the middle of a start leaves nothing behind', async () => {
  const starting = npmStart();
  // The first store is there, the others are not yet.
  while (!(await readdir(join(dataDir, 'run'))).some((file) => file.endsWith('.pid'))) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  starting.kill('SIGTERM');
  await starting.exited;
  expect(await processesOfDataDir()).toEqual([]);
  expect((await readdir(join(dataDir, 'run'))).filter((file) => file.endsWith('.pid'))).toEqual([]);
});

test('after SIGKILL of the whole product the next start comes up by itself with the same data and shows no password', async () => {
  const crashed = npmStart();
  await untilWelcome(crashed);
  process.kill(await pidOfMeridian(), 'SIGKILL');
  await crashed.exited;

  const next = npmStart();
  const lines = await untilWelcome(next);
  expect(lines).toContain('Administrator: admin');
  const api = await logIn(base, 'admin', password);
  expect(await api.get('/websites')).toMatchObject({ count: 1 });
  next.kill('SIGTERM');
  await next.exited;
  expect(await processesOfDataDir()).toEqual([]);
});
