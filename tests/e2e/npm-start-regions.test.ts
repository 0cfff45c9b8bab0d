import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { chrome, eventually, logIn, request, type Website } from '../api-client.ts';
import { freePorts } from '../free-ports.ts';
import { type Process, startProcess, untilReady } from '../processes.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'meridian-regions-'));
const port = await freePorts(2);
const origin = (index: number) => `http://localhost:${port + index}`;
let started: Process | undefined;

afterAll(async () => {
  started?.kill('SIGTERM');
  await started?.exited;
  await rm(dataDir, { recursive: true, force: true });
});

test('npm start with two regions prints their addresses, and each answers for both', async () => {
  const env = { DATA_DIR: dataDir, PORT: String(port), ADMIN_PASSWORD: 'two-regions' };
  started = startProcess('npm', ['start', '--', '--regions', 'us,eu'], env);
  await untilReady(started, `${origin(1)}/readyz`, 180_000);
  await eventually(
    async () => started?.output() ?? '',
    (text) => text.includes(`Region us: ${origin(0)}\nRegion eu: ${origin(1)}\n`),
  );
  const us = await logIn(`${origin(0)}/v1/us`, 'admin', 'two-regions');
  const eu = await logIn(`${origin(0)}/v1/eu`, 'admin', 'two-regions');
  const website = await eu.ok<Website>('POST', '/websites', { name: 'EU', domain: 'eu.example' });
  const body = { type: 'event', payload: { website: website.id, url: '/' } };
  const sent = await request('POST', `${origin(0)}/api/send`, { headers: { 'user-agent': chrome }, body });
  expect(sent.status).toBe(200);
  expect(await us.ok('GET', `/websites/${website.id}`)).toBeNull();
  await eventually(
    () => eu.get<{ pageviews: number }>(`/websites/${website.id}/stats`, { startAt: 0, endAt: Date.now() + 60_000 }),
    ({ pageviews }) => pageviews === 1,
  );
}, 300_000);

test('a region that is killed starts again, and the other one answers all the time', async () => {
  const us = await logIn(`${origin(0)}/v1/us`, 'admin', 'two-regions');
  process.kill(await pidOf('eu'), 'SIGKILL');
  await eventually(
    async () => {
      expect(await us.ok('GET', '/websites')).toMatchObject({ data: [] });
      return started?.output() ?? '';
    },
    (text) => text.includes('Region eu has ended (SIGKILL); it starts again.'),
  );
  await eventually(
    async () => {
      expect(await us.ok('GET', '/websites')).toMatchObject({ data: [] });
      return (await request('GET', `${origin(0)}/v1/eu/heartbeat`)).status;
    },
    (status) => status === 200,
    120_000,
  );
}, 300_000);

async function pidOf(region: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [command = '', environment = ''] = await Promise.all(
      ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    if (
      command.includes('services/standalone/src/main.ts') &&
      environment.includes(`DATA_DIR=${join(dataDir, region)}\0`)
    )
      return Number(pid);
  }
  throw new Error('not running');
}
