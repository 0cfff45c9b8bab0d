import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { lockDataDir } from '@meridian/embedded/data-dir-lock';
import { keepSecret } from '@meridian/embedded/kept-secret';
import { startStores } from '@meridian/embedded/stores';
import type { Logger } from '@meridian/runtime/logger';
import { type Life, StartError } from '@meridian/runtime/process';
import type { StandaloneConfig } from './config.ts';
import { orStartError } from './or-start-error.ts';
import { refuseOtherLayout } from './refuse-other-layout.ts';
import { noteRegions } from './regions-note.ts';
import { originOf } from './welcome.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const againAfterMs = 1_000;

/**
 * Several regions on this machine, as clusters that share only the registry: each is a process of this program with a
 * Redis and a ClickHouse of its own, on ports that count up from `PORT`, and knows the others as its peers.
 */
export async function startRegions(
  regions: readonly string[],
  parts: { life: Life; logger: Logger; config: StandaloneConfig; env: NodeJS.ProcessEnv },
) {
  const { life, logger, config, env } = parts;
  for (const store of ['CLICKHOUSE_URL', 'REDIS_URL'] as const)
    if (config[store])
      throw new StartError(
        `${store} names one store, and regions share none: leave it out, or start one region at a time.`,
      );
  const dataDir = resolve(config.DATA_DIR);
  const registry = await orStartError('The regions cannot start', async () => {
    // One start on a directory at a time, of one region or of several: what is noted in it is that start's.
    const lock = lockDataDir(dataDir);
    life.onStop('lock', () => lock.release());
    refuseOtherLayout(dataDir, 'several');
    return startStores({
      dataDir: join(dataDir, 'registry'),
      databaseUrl: config.DATABASE_URL,
      only: ['postgres'],
      onProgress: console.log,
      log: (message) => logger.warn(message),
    });
  });
  life.onStop('registry', () => registry.stop());

  const origins = regions.map((_, i) => originOf(config.HOST, config.PORT + i));
  const shared = {
    DATABASE_URL: registry.databaseUrl,
    APP_SECRET: config.APP_SECRET ?? keepSecret(join(dataDir, 'app-secret')),
    PEER_SECRET: config.PEER_SECRET ?? keepSecret(join(dataDir, 'peer-secret')),
    PEERS: regions.map((region, i) => `${region}=${origins[i]}`).join(','),
  };
  noteRegions(dataDir, { peers: shared.PEERS, databaseUrl: registry.databaseUrl });
  life.onStop('note', () => noteRegions(dataDir, null));
  // Ctrl-C reaches all of them at once, though they are stopped one after the other: none starts again from then on.
  const all = { areStopping: false };
  // One after the other: the first one makes the administrator, and tells of it.
  for (const [i, region] of regions.entries()) {
    const own = {
      REGION: region,
      PORT: String(config.PORT + i),
      DATA_DIR: join(dataDir, region),
      ...(config.METRICS_PORT && { METRICS_PORT: String(config.METRICS_PORT + i) }),
    };
    await keepRunning(region, { env: { ...env, ...shared, ...own, REGIONS: '' }, isFirst: i === 0, life, all });
  }
  console.log(regions.map((region, i) => `Region ${region}: ${origins[i]}`).join('\n'));
}

/** Resolves when the region is ready. Its death is no other one's: it starts again. */
async function keepRunning(
  region: string,
  { env, isFirst, life, all }: { env: NodeJS.ProcessEnv; isFirst: boolean; life: Life; all: { areStopping: boolean } },
): Promise<void> {
  let child = start();
  life.onStop(region, () => {
    all.areStopping = true;
    return end(child);
  });

  function start() {
    const started = spawn(process.execPath, [...process.execArgv, main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    started.once('exit', (code, signal) => {
      if (all.areStopping || !wasReady) return;
      console.error(`Region ${region} has ended (${signal ?? code}); it starts again.`);
      setTimeout(() => {
        if (all.areStopping) return;
        child = start();
        child.stdout.resume();
      }, againAfterMs);
    });
    return started;
  }

  let wasReady = false;
  await untilReady(child, region, isFirst);
  wasReady = true;
}

/** Hands on what the process prints; of all but the first only what it says while it starts is worth reading. */
function untilReady(child: ChildProcessByStdio<null, Readable, null>, region: string, isFirst: boolean): Promise<void> {
  return new Promise((ready, fail) => {
    child.once('exit', () => fail(new StartError(`Region ${region} did not start; see above.`)));
    let isReady = false;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (isFirst || !isReady) console.log(line);
      if (line.startsWith('Meridian is ready')) isReady = true;
      if (isReady) ready();
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.removeAllListeners('exit');
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await exited;
}
