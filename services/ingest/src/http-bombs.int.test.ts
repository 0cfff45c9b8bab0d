import { pipeline } from 'node:stream/promises';
import { createBrotliCompress, createDeflate, createGzip } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestIngest } from './ingest-fixtures.ts';

/** Packed it still is below the limit of `/send`, so that it has to be unpacked to be known. */
const bombBytes = 60_000_000;
const bombsAtOnce = 33;

let ingest: Awaited<ReturnType<typeof startTestIngest>>;

beforeAll(async () => {
  ingest = await startTestIngest();
});
afterAll(() => ingest.stop());

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

  const peakBytes = () => process.resourceUsage().maxRSS * 1_024;
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
