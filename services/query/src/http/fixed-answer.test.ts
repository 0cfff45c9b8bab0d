import { gunzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { QueryEnv } from '../query-env.ts';
import { createFixedAnswer } from './fixed-answer.ts';

const content = 'x'.repeat(100_000);

test('content is made and compressed once, whoever asks at the same time, and again only when that failed', async () => {
  let made = 0;
  const answer = createFixedAnswer(async () => {
    made++;
    if (made === 1) throw new Error('too many open files');
    return content;
  }, 'text/plain');
  const app = new Hono<QueryEnv>().get('/', answer);
  app.onError((_, c) => c.text('', 500));
  const ask = (encoding: string) => app.request('/', { headers: { 'accept-encoding': encoding } });
  expect((await ask('gzip')).status).toBe(500);
  const answers = await Promise.all(['gzip, deflate, br, zstd', 'br, gzip;q=0.5', 'GZIP', '*'].map(ask));
  for (const packed of answers) {
    const bytes = Buffer.from(await packed.arrayBuffer());
    expect([packed.headers.get('content-encoding'), String(gunzipSync(bytes))]).toEqual(['gzip', content]);
  }
  for (const plain of await Promise.all(['', 'gzip;q=0', 'br', 'identity', 'xgzip', 'gzip;q=0, *'].map(ask)))
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, content]);
  expect(made).toBe(2);
  expect(new Set((await Promise.all(['gzip', ''].map(ask))).map(({ headers }) => headers.get('etag'))).size).toBe(1);
  expect((await ask('')).headers.get('vary')).toBe('accept-encoding');
});
