import type { LoadStores } from '../load-stores.ts';
import { type Row, summarise } from '../report.ts';
import type { Services } from '../services.ts';
import { type Answers, askFor, question, sessionToken, storeEvents } from './http-questions.ts';
import { startRecording } from './http-recording.ts';

const smallEvents = 1_000;
const connections = 16;
/** So that all is compiled. */
const warmUpSeconds = 20;
const goal = { atLeast: 0.25, aim: 0.4, unit: ' x floor' };

/**
 * Answers to /stats of a small website per CPU-second of the query process, as a share of the bare server's for the
 * same requests. ClickHouse's answers are repeated by a recording.
 */
export async function measureHttpFloor(context: {
  stores: LoadStores;
  services: Services;
  seconds: number;
  rounds: number;
}): Promise<Row[]> {
  const { stores, services, seconds, rounds } = context;
  const [website = ''] = stores.websites;
  await storeEvents(stores, website, smallEvents);
  const recording = await startRecording(stores.env.CLICKHOUSE_URL);
  // One caller stands for many here, so he does not wait for turns.
  const turns = { QUESTIONS_PER_CALLER: String(connections), QUESTIONS_IN_ALL: String(connections) };
  const more = { LOG_SAMPLE_RATE: '0', CLICKHOUSE_URL: recording.url, ...turns };
  const [query, bare] = [await services.start('query', more), await services.startBare()];
  const load = { paths: [question(website, 'stats')], token: await sessionToken(query), connections };
  const targets = { bare, query };
  for (const target of [query, bare]) await askFor(warmUpSeconds, target, load);
  const results: Record<keyof typeof targets, Answers[]> = { bare: [], query: [] };
  for (let round = 0; round < rounds; round++)
    for (const name of ['bare', 'query'] as const) results[name].push(await askFor(seconds, targets[name], load));
  await services.end(query, bare);
  recording.close();

  const rates = (of: keyof typeof targets) => results[of].map((answers) => okOf(answers) / answers.cpuSeconds);
  const floors = rates('bare');
  return [
    { what: 'bare node:http, requests per CPU-second', ...summarise(floors), note: describe(results.bare) },
    {
      what: '/stats of a small website by a session, requests per CPU-second',
      goal,
      ...summarise(rates('query').map((rate, round) => rate / (floors[round] ?? Number.NaN))),
      note: describe(results.query),
    },
  ];
}

const okOf = ({ statuses }: Answers): number => statuses.get(200) ?? 0;

function describe(results: readonly Answers[]): string {
  const sum = (pick: (answers: Answers) => number) => results.reduce((total, answers) => total + pick(answers), 0);
  const perCpuSecond = Math.round(sum(okOf) / sum(({ cpuSeconds }) => cpuSeconds));
  const perSecond = Math.round(sum(okOf) / sum(({ seconds }) => seconds));
  const failed = sum(({ statuses }) => [...statuses.values()].reduce((a, b) => a + b, 0)) - sum(okOf);
  return `${perCpuSecond} per CPU-second, ${perSecond} per second${failed > 0 ? `, ${failed} FAILED` : ''}`;
}
