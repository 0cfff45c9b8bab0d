// Asks what dashboards ask, of much data, beside the plain shape and the scan limit:
// `npm run load:query -- [--events 10000000] [--days 90] [--rounds 5] [--data DIR] [--seed 1] [--only
// stats,path]`. The data are made once and kept in DIR; with fewer days only the first ones are made.
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { DateRange, Question } from '@meridian/warehouse/question';
import { machineLine } from '../hardware.ts';
import { aloneDatabase, days, makeData, startMs } from './data.ts';
import { type Cost, startEngine } from './engine.ts';
import { type BenchQuestion, questions } from './questions.ts';

const diskPerEventMaxBytes = 90;

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '10000000' },
    days: { type: 'string', default: String(days) },
    rounds: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    data: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const events = Number(values.events);
const daysMade = Number(values.days);
const endMs = startMs + daysMade * 86_400_000;
const rounds = Number(values.rounds);
const dataDir = resolve(values.data ?? join(tmpdir(), `meridian-load-query-${events}-${values.seed}`));
const startedAt = performance.now();
const engine = await startEngine(dataDir);
try {
  const data = await makeData(engine, events, Number(values.seed), daysMade);
  const madeSeconds = Math.round((performance.now() - startedAt) / 1_000);
  const asked = questions.filter(({ name }) => values.only.split(',').some((part) => name.includes(part)));
  const sites: Site[] = [
    { site: 'big', websiteId: data.bigWebsite, ...engine.askIn(engine.database) },
    { site: 'small', websiteId: data.smallWebsite, ...engine.askIn(engine.database) },
    { site: 'small, alone', websiteId: data.smallWebsite, ...engine.askIn(aloneDatabase) },
  ];
  const lines: string[][] = [];
  for (const site of sites)
    for (const question of asked)
      lines.push([site.site, question.name, ...(await measure(question, site, data.lastEventMs))]);

  print([
    [
      'site',
      'question',
      'median',
      'p95',
      'CPU',
      'rows',
      'bytes',
      'memory',
      'plain CPU',
      'plain/ours',
      'scan CPU',
      'limit',
    ],
    ...lines,
  ]);
  const disk = await engine.command(
    `SELECT arrayStringConcat(groupArray(concat(table, ' ', toString(round(bytes / ${data.events}, 1)))), ', '), round(sum(bytes) / ${data.events}, 1)
     FROM (SELECT table, sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase() AND table != 'plain_events' GROUP BY table ORDER BY bytes DESC) FORMAT TSVRaw`,
  );
  const [ofTables, perEvent] = disk.trim().split('\t');
  const verdict = Number(perEvent) <= diskPerEventMaxBytes ? 'pass' : 'MISS';
  console.log(`\nBytes on disk for an event: ${perEvent} (${ofTables}), at most ${diskPerEventMaxBytes}: ${verdict}`);
  const version = (await engine.command('SELECT version() FORMAT TSVRaw')).trim();
  console.log(
    `\n${machineLine()}, ClickHouse ${version}; ${data.events.toLocaleString('en-US')} events, the first ${daysMade} days of ${events.toLocaleString('en-US')} in ${days}; the small website has ` +
      `${data.smallEvents.toLocaleString('en-US')}; data ready after ${madeSeconds} s, all after ${Math.round((performance.now() - startedAt) / 1_000)} s; ${rounds} interleaved rounds; ms`,
  );
} finally {
  await engine.stop();
}

type Site = { site: string; websiteId: string } & ReturnType<typeof engine.askIn>;

function rangeOf({ days, range }: BenchQuestion, lastEventMs: number): DateRange {
  const rangeMs = days * 86_400_000;
  if (range === 'up to last event') return { startAt: new Date(lastEventMs - rangeMs), endAt: new Date(lastEventMs) };
  if (range === 'whole days') return { startAt: new Date(endMs - rangeMs), endAt: new Date(endMs - 1) };
  return { startAt: new Date(endMs - rangeMs + 1_234_567), endAt: new Date(endMs - 7_654_321) };
}

async function measure(
  bench: BenchQuestion,
  { site, websiteId, run, runByClient, choose }: Site,
  lastEventMs: number,
): Promise<string[]> {
  const question: Question = {
    websiteId,
    range: rangeOf(bench, lastEventMs),
    filters: [],
    match: 'all',
    route: 'bench',
  };
  const scope = `website_id = '${websiteId}' AND created_at BETWEEN '${sqlTime(question.range.startAt)}' AND '${sqlTime(question.range.endAt)}' AND event_type IN (1, 2)`;
  const plain = site === 'small, alone' ? undefined : bench.plain?.replaceAll('{scope}', scope);
  const scan = `SELECT sum(${bench.column}) FROM events WHERE ${scope}`;
  const from = await choose(question);
  const costs: Record<'own' | 'plain' | 'scan', Cost[]> = { own: [], plain: [], scan: [] };
  let memoryBytes = 0;
  for (let round = 0; round <= rounds; round++) {
    const own = await engine.costOf(() => bench.ask(round === 0 ? runByClient : run, question, from));
    const other = plain && (await engine.costOf(() => engine.ask(plain)));
    const limit = await engine.costOf(() => engine.ask(scan));
    if (round === 0) {
      memoryBytes = own.memoryBytes;
      continue; // the first round warms caches up and tells the memory
    }
    costs.own.push(own);
    if (other) costs.plain.push(other);
    costs.scan.push(limit);
  }
  const at = (of: keyof typeof costs, figure: keyof Cost, share = 0.5) =>
    quantile(
      costs[of].map((cost) => cost[figure]),
      share,
    );
  const isMany = events >= 50_000_000;
  const atMost =
    site === 'big' ? (isMany ? bench.atMost100M : bench.atMost10M) : isMany && site === 'small' ? 30 : undefined;
  const ratio = at('plain', 'cpuMs') / at('own', 'cpuMs');
  return [
    at('own', 'ms').toFixed(0),
    at('own', 'ms', 0.95).toFixed(0),
    at('own', 'cpuMs').toFixed(0),
    at('own', 'rows').toLocaleString('en-US'),
    `${(at('own', 'bytes') / 1e6).toFixed(1)} MB`,
    `${(memoryBytes / 1e6).toFixed(0)} MB`,
    plain ? at('plain', 'cpuMs').toFixed(0) : '',
    plain ? ratio.toFixed(1) : '',
    at('scan', 'cpuMs').toFixed(0),
    atMost === undefined ? '' : `${atMost} ${at('own', 'ms') <= atMost ? 'pass' : 'MISS'}`,
  ];
}

function sqlTime(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', '');
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

function print(lines: string[][]): void {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  for (const line of lines)
    console.log(
      line.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
    );
}
