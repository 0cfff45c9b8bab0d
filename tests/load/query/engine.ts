import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { startStores } from '@meridian/embedded/stores';
import { parseClickHouseUrl } from '@meridian/warehouse/clickhouse-url';
import { clientOptions } from '@meridian/warehouse/client';
import { createQuestionChannel, type QuestionChannel } from '@meridian/warehouse/question-channel';
import { type ChooseReadFrom, createChooseReadFrom } from '@meridian/warehouse/read-from';
import { createRunQuery, type RunQuery, readSettings } from '@meridian/warehouse/run-query';

/**
 * What one statement cost. `cpuMs`: of the whole engine meanwhile, which does nothing else. `memoryBytes`: 0 for what
 * `run` asks, which does not hear it.
 */
export type Cost = { ms: number; cpuMs: number; rows: number; bytes: number; memoryBytes: number };
export type Engine = Awaited<ReturnType<typeof startEngine>>;

/** ClickHouse on a data directory that stays, without the other stores. */
export async function startEngine(dataDir: string) {
  const stores = await startStores({ dataDir, only: ['clickhouse'], onProgress: console.error });
  const url = stores.clickhouseUrl;
  const address = parseClickHouseUrl(url);
  const clients: ClickHouseClient[] = [];
  const channels: QuestionChannel[] = [];
  const answerMaxMs = 600_000;
  const clientOf = (database: string): ClickHouseClient => {
    const client = createClient({ ...clientOptions({ ...address, database }), request_timeout: answerMaxMs });
    clients.push(client);
    return client;
  };
  const client = clientOf(address.database);
  const pid = Number(JSON.parse(readFileSync(join(dataDir, 'run', 'clickhouse.pid'), 'utf8')).pid);
  const settings = { wait_end_of_query: 1 as const, max_execution_time: 120 };
  let noted = { rows: 0, bytes: 0, memoryBytes: 0 };

  function note(headers: Record<string, string | string[] | undefined>): void {
    const summary = JSON.parse(String(headers['x-clickhouse-summary']));
    noted.rows += Number(summary.read_rows);
    noted.bytes += Number(summary.read_bytes);
    noted.memoryBytes = Math.max(noted.memoryBytes, Number(summary.memory_usage));
  }

  /**
   * In a database, `choose`: what the product reads for an answer. `run`: as the product runs its questions.
   * `runByClient`: slower, but tells how much memory they took.
   */
  function askIn(database: string): { choose: ChooseReadFrom; run: RunQuery; runByClient: RunQuery } {
    const channel = createQuestionChannel({ ...address, database }, readSettings);
    channels.push(channel);
    const ask = createRunQuery(channel, undefined, answerMaxMs);
    const run: RunQuery = async (...args) => {
      const answer = await ask(...args);
      noted.rows += answer.timing.rowsRead;
      noted.bytes += answer.timing.bytesRead;
      return answer;
    };
    const asked = clientOf(database);
    const runByClient: RunQuery = async (query, _context, row) => {
      const result = await asked.query({
        query: query.sql,
        query_params: query.params,
        format: 'JSON',
        clickhouse_settings: readSettings,
      });
      const { data } = await result.json();
      note(result.response_headers);
      return { rows: data.map((value) => row.parse(value)), timing: { elapsedMs: 0, rowsRead: 0, bytesRead: 0 } };
    };
    return { choose: createChooseReadFrom(asked, ask), run, runByClient };
  }

  return {
    url,
    database: address.database,
    /** One statement; gives the text of its answer. */
    async command(query: string, settings: Record<string, string> = {}): Promise<string> {
      const result = await client.exec({ query, clickhouse_settings: { ...settings, wait_end_of_query: 1 } });
      const chunks: Buffer[] = [];
      for await (const chunk of result.stream) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
    askIn,
    /** A question in SQL, whose answer is read and thrown away. */
    async ask(query: string): Promise<void> {
      const result = await client.query({ query, format: 'JSON', clickhouse_settings: settings });
      await result.json();
      note(result.response_headers);
    },
    /** What it costs to do something, once; the queries that it makes one after the other or at once are added up. */
    async costOf(act: () => Promise<unknown>): Promise<Cost> {
      noted = { rows: 0, bytes: 0, memoryBytes: 0 };
      const [startedAt, cpuBefore] = [performance.now(), cpuMsOf(pid)];
      await act();
      return { ms: performance.now() - startedAt, cpuMs: cpuMsOf(pid) - cpuBefore, ...noted };
    },
    async stop(): Promise<void> {
      await Promise.all([...clients, ...channels].map((connection) => connection.close()));
      await stores.stop();
    },
  };
}

/** CPU time of a process, ms: of all its threads that live, which is finer than the sum that the kernel keeps. */
function cpuMsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      return sum; // has ended
    }
  }, 0);
}
