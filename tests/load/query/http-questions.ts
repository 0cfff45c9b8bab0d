import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from '../../api-client.ts';
import type { Target } from '../closed-load.ts';
import { type LoadStores, owner } from '../load-stores.ts';
import { cpuSecondsOf } from '../process-figures.ts';

const dayMs = 86_400_000;
const pagesPerVisit = 5;
/** How many days the events span, up to now. */
const days = 30;

/** The path of a question about all that was stored of a website. */
export function question(websiteId: string, route: string, query: Record<string, string> = {}): string {
  const now = Date.now();
  const range = { startAt: String(now - (days + 1) * dayMs), endAt: String(now + dayMs) };
  return `/api/websites/${websiteId}/${route}?${new URLSearchParams({ ...range, ...query })}`;
}

/** Stores so many events of a website, five to a visit. */
export async function storeEvents({ clickhouse }: LoadStores, websiteId: string, events: number): Promise<void> {
  await clickhouse({
    max_partitions_per_insert_block: '100',
    query: `
INSERT INTO events (website_id, created_at, event_id, session_id, visit_id, event_type, hostname, url_path, page_title, browser, os, device, country)
SELECT '${websiteId}', toDateTime64(at + step * 20, 3, 'UTC'), dateTimeToUUIDv7(at + step * 20), reinterpretAsUUID(sipHash128(visit % ${Math.ceil(events / 10)})), visit_id,
  if(visit % 11 = step, 2, 1), 'shop.example', concat('/item-', toString(cityHash64(visit, step) % 5000)), 'Item', ['chrome', 'safari', 'firefox'][1 + visit % 3],
  ['Windows 10', 'iOS', 'Linux'][1 + visit % 3], ['desktop', 'mobile'][1 + visit % 2], ['US', 'DE', 'FR', 'JP', 'IN'][1 + visit % 5]
FROM (SELECT number AS visit, toDateTime(now('UTC') - ${days * 86_400} + intDiv(number * ${(days - 1) * 86_400}, ${Math.ceil(events / pagesPerVisit)}), 'UTC') AS at, dateTimeToUUIDv7(at) AS visit_id
  FROM numbers(${Math.ceil(events / pagesPerVisit)}))
ARRAY JOIN range(${pagesPerVisit}) AS step`,
  });
}

/** Logs in the account of the load test. Gives the token of its session. */
export async function sessionToken({ port }: Target): Promise<string> {
  const { username, password } = owner;
  const answer = await request('POST', `http://127.0.0.1:${port}/api/auth/login`, { body: { username, password } });
  if (answer.status !== 200) throw new Error(answer.text);
  return (answer.body as { token: string }).token;
}

export type Answers = { statuses: Map<number, number>; seconds: number; cpuSeconds: number };

/**
 * Keeps `connections` busy until `signal` says stop, each with the next of `paths` after every answer, and counts the
 * answers by status. As cheap as can be; understands answers with a content-length only.
 */
export async function askAllTheTime(
  { port, pid }: Target,
  {
    paths,
    token,
    connections,
    signal,
  }: { paths: readonly string[]; token: string; connections: number; signal: AbortSignal },
): Promise<Answers> {
  const requests = paths.map(
    (path) =>
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const statuses = new Map<number, number>();
  const [startedAtMs, cpuBefore] = [performance.now(), cpuSecondsOf(pid)];
  let asked = 0;

  async function keepAsking(): Promise<void> {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    await once(socket, 'connect');
    await new Promise<void>((resolve, reject) => {
      let received = '';
      const ask = () => socket.write(requests[asked++ % requests.length] ?? '', 'latin1');
      socket.on('error', reject);
      socket.on('close', () => (signal.aborted ? resolve() : reject(new Error(`port ${port} closed a connection`))));
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
        if (received.length < headEnd + 4 + length) return;
        const status = Number(received.slice(9, 12));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        received = '';
        if (signal.aborted) socket.destroy();
        else ask();
      });
      ask();
    });
  }

  await Promise.all(Array.from({ length: connections }, keepAsking));
  return { statuses, seconds: (performance.now() - startedAtMs) / 1_000, cpuSeconds: cpuSecondsOf(pid) - cpuBefore };
}

/** Asks for so many seconds. */
export async function askFor(
  seconds: number,
  target: Target,
  load: Omit<Parameters<typeof askAllTheTime>[1], 'signal'>,
): Promise<Answers> {
  const stop = new AbortController();
  const answers = askAllTheTime(target, { ...load, signal: stop.signal });
  await delay(seconds * 1_000);
  stop.abort();
  return answers;
}
