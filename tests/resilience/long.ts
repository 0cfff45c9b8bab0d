import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startStores } from '@meridian/embedded/stores';
import { checkLoad, describe, type Report, untilLogIsEmpty } from './checker.ts';
import { type LoadOptions, type NumberedLoad, startNumberedLoad } from './numbered-load.ts';
import { startSystem } from './system.ts';

/*
 * The faults that take too long for `npm test`, on stores of their own: `npm run resilience:long`. Prints a table, and
 * ends with 1 when an event was lost or doubled.
 */
const { values } = parseArgs({
  options: {
    /** How long ClickHouse is down in the first stretch. */
    minutes: { type: 'string', default: '10' },
    kills: { type: 'string', default: '100' },
    /** Stretches whose name has this in it; all of them without. */
    only: { type: 'string', default: '' },
  },
});
const minutes = Number(values.minutes);
const kills = Number(values.kills);
const drainMs = 600_000;
const recoveryMs = 120_000;

const dataDir = mkdtempSync(join(tmpdir(), 'meridian-long-'));
const stores = await startStores({ dataDir, log: () => {} });
process.env.TEST_DATABASE_URL = stores.databaseUrl;
process.env.TEST_CLICKHOUSE_URL = stores.clickhouseUrl;
process.env.TEST_REDIS_URL = stores.redisUrl;
const system = await startSystem({ counts: { ingest: 2, worker: 2 } });

const storeNames = ['redis', 'clickhouse', 'postgres'] as const;

/** A store that dies is started again by the one who runs it. */
const killStore = (name: (typeof storeNames)[number], signal: NodeJS.Signals): void =>
  void process.kill(JSON.parse(readFileSync(join(dataDir, 'run', `${name}.pid`), 'utf8')).pid, signal);

const untilMore = async (load: NumberedLoad, more: number): Promise<void> => {
  const wanted = load.accepted.size + more;
  const deadline = Date.now() + recoveryMs;
  while (load.accepted.size < wanted) {
    if (Date.now() > deadline) throw new Error('Nothing is accepted any more');
    await delay(50);
  }
};

type Line = { fault: string; report: Report; drainedSeconds: number; answers: string };
const lines: Line[] = [];

async function stretch(
  fault: string,
  act: (load: NumberedLoad) => Promise<void>,
  options: Partial<LoadOptions> = {},
): Promise<void> {
  if (!fault.includes(values.only)) return;
  console.log(`${new Date().toISOString()} ${fault} …`);
  const websiteId = await system.newWebsite();
  const load = startNumberedLoad({ ports: system.ingestPorts(), websiteId, ...options });
  await untilMore(load, 100);
  await act(load).finally(load.stop);
  const endedAt = performance.now();
  await untilLogIsEmpty(system, drainMs);
  const drainedSeconds = Math.round((performance.now() - endedAt) / 100) / 10;
  const report = await checkLoad(system, websiteId, load);
  console.log(`${describe(report)}; the log was empty after ${drainedSeconds} s`);
  lines.push({ fault, report, drainedSeconds, answers: JSON.stringify(Object.fromEntries(load.statuses)) });
}

async function clickHouseDown(seconds: number): Promise<void> {
  system.proxies.clickhouse.goDown();
  await delay(seconds * 1_000);
  system.proxies.clickhouse.goUp();
}

async function killOne(): Promise<void> {
  const members = Object.values(system.members).flat();
  const victim = randomInt(members.length + storeNames.length);
  const member = members[victim];
  if (member) {
    await member.end('SIGKILL');
    await member.start();
  } else {
    const store = storeNames[victim - members.length];
    if (store) killStore(store, 'SIGKILL');
  }
}

try {
  await stretch(`ClickHouse is down for ${minutes} minutes`, () => clickHouseDown(minutes * 60));
  await stretch('ClickHouse is down for a minute at full load', () => clickHouseDown(60), {
    senders: Array.from({ length: 8 }, () => 100),
    pauseMs: 0,
  });
  await stretch('Redis is restarted 5 times', async (load) => {
    for (let restart = 0; restart < 5; restart++) {
      killStore('redis', 'SIGTERM');
      await delay(1_000);
      await untilMore(load, 1_000);
    }
  });
  await stretch('Redis is out of reach for 1, 10 and 40 s, then hangs for as long', async (load) => {
    for (const seconds of [1, 10, 40]) {
      system.proxies.redis.goDown();
      await delay(seconds * 1_000);
      system.proxies.redis.goUp();
      await untilMore(load, 500);
    }
    for (const seconds of [1, 10, 40]) {
      killStore('redis', 'SIGSTOP');
      await delay(seconds * 1_000);
      killStore('redis', 'SIGCONT');
      await untilMore(load, 500);
    }
  });
  await stretch(`${kills} SIGKILLs of services and stores at random`, async (load) => {
    for (let kill = 0; kill < kills; kill++) {
      await killOne();
      await delay(randomInt(200, 2_000));
      await untilMore(load, 1);
    }
  });
} finally {
  await system.stop();
  await stores.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

console.log(
  '\n| fault | accepted | stored | lost | doubled | log empty after | answers |\n|---|---|---|---|---|---|---|',
);
for (const { fault, report, drainedSeconds, answers } of lines) {
  const { accepted, stored, lost, doubled } = report;
  console.log(
    `| ${fault} | ${accepted} | ${stored} | ${lost.length} | ${doubled.length} | ${drainedSeconds} s | ${answers} |`,
  );
}
const failed = lines.some(({ report }) => report.lost.length + report.doubled.length + report.deadLettered > 0);
process.exit(failed ? 1 : 0);
