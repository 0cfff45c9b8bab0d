import { randomUUID } from 'node:crypto';
import { ClickHouseError, parseError } from '@clickhouse/client';
import { type Dispatcher, Pool } from 'undici';
import type { ClickHouseAddress } from './clickhouse-url.ts';
import { toParameterText } from './parameter-text.ts';
import type { Query } from './query.ts';
import { WarehouseError } from './warehouse-error.ts';

/** What ClickHouse answers in its format JSON. */
export type JsonAnswer = {
  data: unknown[];
  /** `elapsed`: seconds. */
  statistics: { elapsed: number; rows_read: number; bytes_read: number };
};

/** `comment`: goes into the query log. `signal`: ends the query. `answerMaxMs`: how long an answer is waited for. */
type Circumstances = { comment: string; signal: AbortSignal | undefined; answerMaxMs: number };

export type QuestionChannel = {
  /**
   * Asks ClickHouse. Throws its ClickHouseError, a WarehouseError `aborted` or `timeout`, whereupon ClickHouse ends the
   * query, or what went wrong on the way.
   */
  ask(query: Query, circumstances: Circumstances): Promise<JsonAnswer>;
  /** Ends what is asked at the moment. */
  close(): Promise<void>;
};

const connectionsMax = 20;
/** Proxies and firewalls drop idle connections silently. */
const idleMaxMs = 10_000;
/** Random, so that no value can contain it. */
const boundary = `meridian-${randomUUID()}`;

/**
 * The way of questions to ClickHouse, with connections of its own. The way of everything else, `@clickhouse/client`,
 * costs this process several times as much for each question. `settings` go with every one. Opens nothing before the
 * first.
 */
export function createQuestionChannel(
  { url, username, password, database }: ClickHouseAddress,
  settings: Record<string, string | number>,
): QuestionChannel {
  // The time that an answer may take is watched here.
  const limits = { headersTimeout: 0, bodyTimeout: 0, connections: connectionsMax };
  const kept = new Pool(url, { ...limits, keepAliveMaxTimeout: idleMaxMs });
  const fresh = new Pool(url, { ...limits, pipelining: 0 });
  const fixed = Object.entries({ ...settings, database, default_format: 'JSON' });
  const path = `/?${fixed.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}&log_comment=`;
  const headers = {
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'user-agent': 'meridian',
  };
  return {
    async ask(query, { comment, signal, answerMaxMs }) {
      if (signal?.aborted) throw givenUp();
      const body = Buffer.from(toForm(query));
      const request = { method: 'POST', path: path + encodeURIComponent(comment), headers, body } as const;
      const { status, code, text } = await answerOf([kept, fresh], request, signal, answerMaxMs);
      if (status === 200) return JSON.parse(text);
      throw code === undefined ? parseError(text) : new ClickHouseError({ message: text, code });
    },
    async close() {
      await Promise.all([kept.destroy(), fresh.destroy()]);
    },
  };
}

/** As a form, because parameters would make some addresses too long. */
function toForm({ sql, params }: Query): string {
  let form = part('query', sql);
  for (const name in params) form += part(`param_${name}`, toParameterText(params[name] ?? ''));
  return `${form}--${boundary}--\r\n`;
}

function part(name: string, text: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
}

/** `code`: that of ClickHouse's error. */
type Answer = { status: number; code: string | undefined; text: string };

/**
 * Sends the request by `kept` and, if the connection ends without an answer, a second time by `fresh`: ClickHouse may
 * close an idle connection at the moment at which it is used again. A question may be asked twice.
 */
function answerOf(
  [kept, fresh]: readonly [kept: Pool, fresh: Pool],
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal | undefined,
  answerMaxMs: number,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let reason: WarehouseError | undefined;
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const giveUp = (why: WarehouseError): void => {
      reason = why;
      end();
      controller?.abort(why);
      reject(why);
    };
    const onAbort = (): void => giveUp(givenUp());
    const timer = setTimeout(
      () => giveUp(new WarehouseError('timeout', 'ClickHouse did not answer in time')),
      answerMaxMs,
    );
    signal?.addEventListener('abort', onAbort);

    const send = (pool: Pool): void => {
      const chunks: Buffer[] = [];
      let status = 0;
      let code: string | undefined;
      pool.dispatch(request, {
        onRequestStart(started) {
          controller = started;
          if (reason) started.abort(reason);
        },
        onResponseStart(_, statusCode, head) {
          status = statusCode;
          code = head['x-clickhouse-exception-code']?.toString();
        },
        onResponseData(_, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd() {
          end();
          resolve({ status, code, text: textOf(chunks) });
        },
        onResponseError(_, error) {
          if (pool === kept && !reason && status === 0 && isBrokenConnection(error)) return send(fresh);
          end();
          reject(error);
        },
      });
    };
    send(kept);
  });
}

const givenUp = () => new WarehouseError('aborted', 'The query was given up');

const textOf = (chunks: readonly Buffer[]): string =>
  (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)).toString();

const brokenCodes = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

function isBrokenConnection(error: Error): boolean {
  return 'code' in error && brokenCodes.includes(String(error.code));
}
