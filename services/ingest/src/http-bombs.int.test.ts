import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { createBrotliCompress, createDeflate, createGzip, gzipSync } from 'node:zlib';
import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { chrome, startTestIngest } from './ingest-fixtures.ts';

/** Packed it still is below the limit of `/send`, so that it has to be unpacked to be known. */
const bombBytes = 60_000_000;
const bombsAtOnce = 33;

let ingest: Awaited<ReturnType<typeof startTestIngest>>;

beforeAll(async () => {
  ingest = await startTestIngest();
});
afterAll(() => ingest.stop());

const peakBytes = () => process.resourceUsage().maxRSS * 1_024;
const batchHead = (headers: string) => `POST /api/batch HTTP/1.1\r\nHost: x\r\nUser-Agent: ${chrome}\r\n${headers}\r\n`;

/** Blanks of `bombBytes`, which JSON may have anywhere, compressed. */
async function bomb(compressor: ReturnType<typeof createGzip>): Promise<Buffer> {
  const blanks = Buffer.alloc(1_000_000, ' ');
  const packed: Buffer[] = [];
  await pipeline(
    function* () {
      for (let bytes = 0; bytes < bombBytes; bytes += blanks.length) yield blanks;
    },
    compressor,
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) packed.push(chunk);
    },
  );
  return Buffer.concat(packed);
}

test('2 GB in bombs are 413 and cost no memory, and events sent at the same time are taken', async () => {
  const website = await ingest.newWebsite();
  const bombs = [
    ['gzip', await bomb(createGzip({ level: 9 }))],
    ['deflate', await bomb(createDeflate({ level: 9 }))],
    ['br', await bomb(createBrotliCompress())],
  ] as const;
  for (const [, packed] of bombs) expect(packed.length).toBeLessThan(65_536);

  const before = peakBytes();
  const replies = await Promise.all(
    Array.from({ length: bombsAtOnce }, async (_, i) => {
      const [encoding, packed] = bombs[i % bombs.length] ?? bombs[0];
      const route = i % 2 === 0 ? 'batch' : 'send';
      const refused = await ingest[route](packed, { 'content-encoding': encoding });
      const good = await ingest.send({ type: 'event', payload: { website, url: `/${i}` } });
      return [refused.status, JSON.parse(refused.text).error.code, good.status];
    }),
  );
  expect(replies).toEqual(Array(bombsAtOnce).fill([413, 'payload-too-large', 200]));
  expect(peakBytes() - before).toBeLessThan(100_000_000);
  expect(await ingest.storedEvents(website)).toHaveLength(bombsAtOnce);
});

test('a body of two million chunks of one byte costs less than 300 MB', async () => {
  const body = Buffer.from('1\r\n \r\n'.repeat(2_000_000));
  const before = peakBytes();
  const bytes = Buffer.concat([
    Buffer.from(batchHead('Transfer-Encoding: chunked\r\nConnection: close\r\n')),
    body,
    Buffer.from('2\r\n[]\r\n0\r\n\r\n'),
  ]);
  expect(statusesOf(await rawExchange(ingest.port, bytes))).toEqual([200]);
  expect(peakBytes() - before).toBeLessThan(300_000_000);
}, 60_000);

test('bodies that are held back are 503 beyond 128 MB, the stillest first, and keep no other out; when they are gone all is as before', async () => {
  const website = await ingest.newWebsite();
  const large = [{ type: 'event', payload: { website, url: '/', data: { x: 'x'.repeat(5_000_000) } } }];
  const heldBytes = 5_000_000;
  for (let round = 0; round < 2; round++) {
    const said: string[] = [];
    const sockets: Socket[] = [];
    onTestFinished(() => void sockets.forEach((socket) => void socket.destroy()));
    for (let i = 0; i < 30; i++) {
      const socket = connect(ingest.port, '127.0.0.1').setEncoding('latin1');
      socket.on('data', (text) => (said[i] = `${said[i] ?? ''}${text}`)).on('error', () => {});
      sockets.push(socket);
      socket.write(batchHead(`Content-Length: ${heldBytes}\r\n`));
      await new Promise<void>((done) => socket.write(Buffer.alloc(heldBytes - 10, ' '), () => done()));
    }
    const refused = () => said.flatMap((text, i) => (text.includes('503') ? [i] : []));
    await expect.poll(() => refused().length).toBe(5);
    for (const i of refused())
      expect([statusesOf(said[i] ?? ''), said[i]?.match(/retry-after: \d/i)?.length]).toEqual([[503], 1]);
    expect((await ingest.batch(large)).status).toBe(200);
    expect([refused().length, refused().every((i) => i < 15)]).toEqual([6, true]);
    for (const socket of sockets) socket.destroy();
  }
  await expect.poll(async () => (await ingest.batch(large)).status).toBe(200);
}, 60_000);

/** Posts packed batches whose last bytes come at the same moment; gives index and status of each as it is answered. */
async function postTogether(bodies: Buffer[]): Promise<[number, number][]> {
  const answers: [number, number][] = [];
  const sockets = await Promise.all(
    bodies.map(async (body) => {
      const socket = connect(ingest.port, '127.0.0.1').setEncoding('latin1');
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
      socket.write(batchHead(`Content-Encoding: gzip\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n`));
      await once(socket, 'data');
      socket.write(body.subarray(0, -1));
      return socket;
    }),
  );
  await Promise.all(
    sockets.map(async (socket, i) => {
      socket.write(bodies[i]?.subarray(-1) ?? '');
      const [text] = await once(socket, 'data');
      for (const status of statusesOf(text)) answers.push([i, status]);
    }),
  );
  return answers;
}

test('packed bodies that unpack to 5 MB each and come at once take turns: a small one is not behind them, and all of events are taken', async () => {
  const website = await ingest.newWebsite();
  const small = [{ type: 'event', payload: { website, url: '/small' } }];
  expect((await ingest.batch(small)).status).toBe(200);
  const bombs: Buffer[] = Array(100).fill(gzipSync('x'.repeat(5_000_000)));
  const answers = await postTogether([...bombs, gzipSync(JSON.stringify(small))]);
  expect(answers.slice(0, 50)).toContainEqual([100, 200]);
  expect(answers.map(([, status]) => status).sort()).toEqual([200, ...Array(100).fill(400)]);

  const data = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key${i}`, 'x'.repeat(1_990)]));
  const events = Array.from({ length: 25 }, (_, i) => ({ type: 'event', payload: { website, url: `/${i}`, data } }));
  const taken = await postTogether(Array(60).fill(gzipSync(JSON.stringify(events))));
  expect(taken.map(([, status]) => status)).toEqual(Array(60).fill(200));
}, 60_000);
