import { getEventListeners, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createClient } from '@clickhouse/client';
import { freePort } from '@meridian/embedded/ports';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import fc from 'fast-check';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import type { ParameterValue } from './parameter-text.ts';
import { createQuestionChannel } from './question-channel.ts';
import { createRunQuery, readSettings } from './run-query.ts';

const database = await createClickHouseDatabase();
const address = parseClickHouseUrl(database.url);
const client = createClient(clientOptions(address));
const channel = createQuestionChannel(address, readSettings);
const run = createRunQuery(channel);
afterAll(async () => {
  await channel.close();
  await client.close();
  await database.drop();
});

const context = { websiteId: '00000000-0000-4000-8000-000000000001', route: 'GET /websites/{id}/stats' };
const Row = z.object({ n: z.number() });
const query = (sql: string, params: Record<string, ParameterValue> = {}) => ({ sql, params });

/** Comments of the reads that are running now. */
async function running(): Promise<string[]> {
  const result = await client.query({
    query: `SELECT Settings['log_comment'] AS comment FROM system.processes WHERE current_database = '${database.database}' AND comment != ''`,
    format: 'JSONEachRow',
  });
  return (await result.json<{ comment: string }>()).map((row) => row.comment);
}

test('64-bit numbers are numbers', async () => {
  const { rows } = await run(query('SELECT toUInt64(9007199254740991) AS n'), context, Row);
  expect(rows).toEqual([{ n: 9007199254740991 }]);
});

test('a query names its route and website, and ends when its caller goes away', async () => {
  const caller = new AbortController();
  const answer = run(
    query('SELECT sum(sleepEachRow(1)) AS n FROM numbers(60) SETTINGS max_block_size = 1'),
    { ...context, signal: caller.signal },
    Row,
  );
  await vi.waitFor(async () => expect(await running()).toEqual([`${context.route} ${context.websiteId}`]), 10_000);
  caller.abort();
  await expect(answer).rejects.toMatchObject({ kind: 'aborted' });
  await vi.waitFor(async () => expect(await running()).toEqual([]), 10_000);
});

test('nothing of a question stays at the signal of its caller, who may ask many', async () => {
  const { signal } = new AbortController();
  await run(query('SELECT 1 AS n'), { ...context, signal }, Row);
  await expect(run(query('SELECT'), { ...context, signal }, Row)).rejects.toThrow();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a caller who is gone already asks nothing', async () => {
  await expect(run(query('SELECT 1 AS n'), { ...context, signal: AbortSignal.abort() }, Row)).rejects.toMatchObject({
    kind: 'aborted',
  });
});

test('a query that reads or holds too much is an error of kind "limit", never a part of the answer', async () => {
  for (const sql of ['SELECT sum(number) AS n FROM numbers(100000000000)', 'SELECT number AS n FROM numbers(200000)'])
    await expect(run(query(sql), context, Row)).rejects.toMatchObject({ kind: 'limit' });
});

test('a ClickHouse that says nothing is an error of kind "timeout", and its query ends', async () => {
  const slow = query('SELECT sum(sleepEachRow(1)) AS n FROM numbers(60) SETTINGS max_block_size = 1');
  await expect(createRunQuery(channel, () => {}, 200)(slow, context, Row)).rejects.toMatchObject({ kind: 'timeout' });
  await vi.waitFor(async () => expect(await running()).toEqual([]), 10_000);
});

test('reads cannot write', async () => {
  await expect(run(query('CREATE TABLE t (a UInt8) ENGINE = Memory'), context, Row)).rejects.toThrow();
});

test('a row of another shape than declared is an error', async () => {
  await expect(run(query("SELECT 'text' AS n"), context, Row)).rejects.toThrow();
});

/** Echoes what ClickHouse understood. */
const Echo = z.object({ text: z.string(), list: z.array(z.string()), numbers: z.array(z.number()), n: z.number() });
const echo = (text: string, list: string[], numbers: number[], n: number) =>
  run(
    query('SELECT {a:String} AS text, {b:Array(String)} AS list, {c:Array(Int64)} AS numbers, {d:UInt64} AS n', {
      a: text,
      b: list,
      c: numbers,
      d: n,
    }),
    context,
    Echo,
  );

test('every value reaches ClickHouse as it is: quotes, line ends, NUL, other scripts, what looks like SQL or like a form', async () => {
  const hostile = [
    '',
    `'"\\`,
    "\\'",
    '\\n\\t\\0\\N',
    'a\tb\nc\rd\r\n\r\n--x--\r\n',
    '\0',
    '\b\f\v\u001b\u007f',
    'é日本🎉\u2028\ufeff',
    "'); DROP TABLE events; --",
    '%27&param_a=x+y;{a:String}',
    '[1,2]',
    'NULL',
    'Content-Disposition: form-data; name="query"',
  ];
  for (const text of hostile) {
    const { rows } = await echo(text, [text, 'b', text], [], 1);
    expect(rows).toEqual([{ text, list: [text, 'b', text], numbers: [], n: 1 }]);
  }
  const { rows } = await echo(hostile.join(''), hostile, [0, -1, 1_750_000_000_000], 2 ** 53 - 1);
  expect(rows[0]).toEqual({
    text: hostile.join(''),
    list: hostile,
    numbers: [0, -1, 1_750_000_000_000],
    n: 2 ** 53 - 1,
  });
  expect((await echo('', [], [], 0)).rows).toEqual([{ text: '', list: [], numbers: [], n: 0 }]);
});

test('random values reach ClickHouse as they are', async () => {
  const text = fc.string({ unit: 'binary' });
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
  await fc.assert(
    fc.asyncProperty(text, fc.array(text), fc.array(fc.maxSafeInteger()), async (a, b, c) => {
      expect((await echo(a, b, c, 0)).rows).toEqual([{ text: a, list: b, numbers: c, n: 0 }]);
    }),
    { seed, numRuns: 100 },
  );
});

test('a hundred thousand characters are not too many for a value', async () => {
  const list = Array.from({ length: 10_000 }, (_, i) => `é${i}`.padEnd(6));
  const numbers = Array.from({ length: 10_000 }, (_, i) => 1_750_000_000 + i);
  const { rows } = await echo('ü'.repeat(60_000), list, numbers, 0);
  expect(rows).toEqual([{ text: 'ü'.repeat(60_000), list, numbers, n: 0 }]);
});

test('an answer of many rows comes whole, with what ClickHouse did for it', async () => {
  const { rows, timing } = await run(query('SELECT number AS n FROM numbers(100000)'), context, Row);
  expect(rows).toHaveLength(100_000);
  expect(rows.at(-1)).toEqual({ n: 99_999 });
  expect(timing).toMatchObject({ rowsRead: 100_000, bytesRead: 800_000 });
  expect(timing.elapsedMs).toBeGreaterThan(0);
});

test('what ClickHouse says of a mistake is in the error', async () => {
  await expect(run(query('SELECT nothing AS n'), context, Row)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('UNKNOWN_IDENTIFIER'),
  });
  await expect(run(query("SELECT match('a', {e:String}) AS n", { e: '(' }), context, Row)).rejects.toMatchObject({
    kind: 'invalid-expression',
  });
});

test('who may not come in is refused, and nobody answers zero', async () => {
  const stranger = createQuestionChannel({ ...address, password: `${address.password}x` }, readSettings);
  onTestFinished(stranger.close);
  await expect(createRunQuery(stranger)(query('SELECT 1 AS n'), context, Row)).rejects.toMatchObject({
    kind: 'unavailable',
  });
});

/**
 * A way to ClickHouse that can be cut. `onBytes`: hears of what a connection sends, before it is passed on, and may end
 * the connection.
 */
async function startWay(onBytes: (socket: Socket, asked: number) => void) {
  const target = new URL(address.url);
  const sockets = new Set<Socket>();
  const way = createServer((socket) => {
    const onward = connect(Number(target.port), target.hostname);
    let asked = 0;
    sockets.add(socket);
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      from.on('error', () => {});
      from.on('close', () => to.destroy());
    }
    socket.on('data', (chunk) => {
      if (chunk.toString('latin1').startsWith('POST ')) asked++;
      onBytes(socket, asked);
      if (!socket.destroyed) onward.write(chunk);
    });
    onward.pipe(socket);
  });
  const port = await freePort();
  const open = () => once(way.listen(port, '127.0.0.1'), 'listening');
  await open();
  const close = () => {
    way.close();
    for (const socket of sockets) socket.destroy();
  };
  const asking = createQuestionChannel({ ...address, url: `http://127.0.0.1:${port}` }, readSettings);
  onTestFinished(async () => {
    await asking.close();
    close();
  });
  const ask = () => createRunQuery(asking)(query('SELECT 1 AS n'), context, Row);
  return { ask, close, connections: () => sockets.size, open };
}

test('a connection that ClickHouse closes just when it is used again costs no question', async () => {
  const way = await startWay((socket, asked) => {
    if (asked === 2) socket.destroy();
  });
  await Promise.all([way.ask(), way.ask(), way.ask()]);
  for (let i = 0; i < 5; i++) expect((await way.ask()).rows).toEqual([{ n: 1 }]);
});

test('a ClickHouse that closes every connection is unavailable, and is not asked for ever', async () => {
  const way = await startWay((socket) => socket.destroy());
  await expect(way.ask()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(way.connections()).toBe(2);
});

test('when ClickHouse is back, the next question is answered', async () => {
  const way = await startWay(() => {});
  expect((await Promise.all([way.ask(), way.ask(), way.ask()])).map(({ rows }) => rows[0])).toEqual(
    Array(3).fill({ n: 1 }),
  );
  way.close();
  await expect(way.ask()).rejects.toMatchObject({ kind: 'unavailable' });
  await way.open();
  expect((await way.ask()).rows).toEqual([{ n: 1 }]);
});

test('many more questions than connections are all answered', async () => {
  const way = await startWay(() => {});
  expect(await Promise.all(Array.from({ length: 100 }, way.ask))).toHaveLength(100);
  expect(way.connections()).toBeLessThanOrEqual(20);
});

test('a question that is given up while it waits for a connection ends at once and is never asked', async () => {
  let asked = 0;
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => asked++);
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const waiting = createQuestionChannel({ ...address, url: `http://127.0.0.1:${port}` }, readSettings);
  const ask = (signal: AbortSignal) => createRunQuery(waiting)(query('SELECT 1 AS n'), { ...context, signal }, Row);
  const running = Array.from({ length: 20 }, () => new AbortController());
  const last = new AbortController();
  const all = running.map(({ signal }) => ask(signal));
  await vi.waitFor(() => expect(asked).toBe(20));
  const answer = ask(last.signal);
  last.abort();
  await expect(answer).rejects.toMatchObject({ kind: 'aborted' });
  for (const caller of running) caller.abort();
  for (const { status } of await Promise.allSettled(all)) expect(status).toBe('rejected');
  await waiting.close();
  silent.close();
  expect(asked).toBe(20);
});
