import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Reply, startTestIngest } from './ingest-fixtures.ts';

// Bodies that are wrong as a whole: nothing of them is stored.

const ingest = await startTestIngest();
afterAll(ingest.stop);
let website: string;
beforeEach(async () => {
  website = await ingest.newWebsite();
});

const event = (payload: object = {}) => ({ type: 'event', payload: { website, ...payload } });
const bodyOf = { send: () => JSON.stringify(event()), batch: () => JSON.stringify([event()]) };
const routes = ['send', 'batch'] as const;
const json = (reply: Reply) => JSON.parse(reply.text);

function expectError(reply: Reply, status: number, code: string): void {
  expect([reply.status, json(reply).error.code, json(reply).error.status], reply.text).toEqual([status, code, status]);
}

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

test.each([
  '',
  ' ',
  '\u0000',
  '{"type":"event"',
  '{"type":"event",}',
  "{'a':1}",
  '{a:1}',
  'NaN',
  'Infinity',
  'undefined',
  '[object Object]',
  '// no',
  '/* no */ {}',
  '{} {}',
  '{}\u0000',
  '{"a":01}',
  '{"a":"\n"}',
  '{"a":"\\x41"}',
  '\ufeff\ufeff{}',
  'type=event',
  '<event/>',
])('a body that is no JSON, %j, is 400 and the message says so', async (body) => {
  for (const route of routes) {
    const reply = await ingest[route](body, { 'content-type': 'application/json' });
    expectError(reply, 400, 'bad-request');
    expect(json(reply).error.message).toContain('JSON');
  }
});

test.each(['null', 'true', '5', '"x"', '""', '[]', '{"list":[]}'])(
  'JSON that is no event, %s, is 400 on /send',
  async (body) => expectError(await ingest.send(body), 400, 'bad-request'),
);

test.each(['null', 'true', '5', '"x"', '{"list":[]}', '{"1":{}}', '{"0":{},"2":{}}', '{"events":{}}', '{"events":5}'])(
  'JSON that is no list of events, %s, is 400 on /batch',
  async (body) => expectError(await ingest.batch(body), 400, 'bad-request'),
);

test('empty lists are answered with zeros', async () => {
  for (const body of ['[]', '{}', '{"events":[]}'])
    expect(json(await ingest.batch(body))).toMatchObject({ size: 0, processed: 0, errors: 0, cache: null });
});

test('one BOM is skipped, also of a compressed body; UTF-16 is no JSON, whatever its content type says', async () => {
  for (const route of routes) {
    expect((await ingest[route](`\ufeff${bodyOf[route]()}`)).status).toBe(200);
    const packed = gzipSync(`\ufeff${bodyOf[route]()}`);
    expect((await ingest[route](packed, { 'content-encoding': 'gzip' })).status).toBe(200);
    for (const type of ['application/json; charset=utf-16', 'text/plain'])
      expectError(await ingest[route](utf16(bodyOf[route]()), { 'content-type': type }), 400, 'bad-request');
  }
  expect(await ingest.storedEvents(website)).toHaveLength(4);
});

test('bytes that are not UTF-8 are stored as U+FFFD, those of a latin-1 text too, and the neighbours as they are', async () => {
  const [head = '', tail = ''] = JSON.stringify(event({ title: '@' })).split('@');
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80], [0xe9]]) {
    website = await ingest.newWebsite();
    const good = JSON.stringify(event({ title: 'caf\u00e9' }));
    const bad = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]).toString('latin1');
    const element = Buffer.from(bad.replace(/"website":"[^"]*"/, `"website":"${website}"`), 'latin1');
    const headers = { 'content-type': 'application/json; charset=iso-8859-1' };
    expect((await ingest.send(element, headers)).status).toBe(200);
    const batch = Buffer.concat([Buffer.from(`[${good},`), element, Buffer.from(`,${good}]`)]);
    expect(json(await ingest.batch(batch, headers)).processed).toBe(3);
    const titles = (await ingest.storedEvents(website)).map((stored) => stored.pageTitle);
    expect(titles).toEqual([titles[0], 'caf\u00e9', titles[0], 'caf\u00e9']);
    expect(titles[0]).toMatch(/^\ufffd+$/);
  }
});

test.each([
  ['application/x-www-form-urlencoded', 415],
  ['APPLICATION/X-WWW-FORM-URLENCODED; charset=utf-8', 415],
  ['multipart/form-data; boundary=x', 415],
  ['multipart/mixed', 415],
  ['application/json', 200],
  ['application/json;charset=utf-8', 200],
  ['APPLICATION/JSON', 200],
  ['application/vnd.api+json', 200],
  ['text/plain;charset=UTF-8', 200],
  ['application/octet-stream', 200],
  ['nonsense', 200],
  ['', 200],
])('the content type "%s" is answered with %i', async (type, status) => {
  for (const route of routes) {
    const reply = await ingest[route](bodyOf[route](), { 'content-type': type });
    expect(reply.status).toBe(status);
    if (status === 415) expectError(reply, 415, 'unsupported-media-type');
  }
  expect(await ingest.storedEvents(website)).toHaveLength(status === 200 ? 2 : 0);
});

test.each([
  ['gzip', gzipSync],
  ['X-GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['identity', (body: string) => Buffer.from(body)],
] as const)('a body in %s is read', async (encoding, pack) => {
  for (const route of routes) {
    const reply = await ingest[route](pack(bodyOf[route]()), { 'content-encoding': encoding });
    expect(reply.status, reply.text).toBe(200);
  }
  expect(await ingest.storedEvents(website)).toHaveLength(2);
});

test('an encoding that nobody knows is 415, a broken body of one that is known is 400', async () => {
  for (const route of routes) {
    const body = bodyOf[route]();
    for (const encoding of ['zstd', 'compress', 'gzip, gzip', 'gzip,br', 'nonsense', '__proto__'])
      expectError(await ingest[route](gzipSync(body), { 'content-encoding': encoding }), 415, 'unsupported-media-type');
    const packed = gzipSync(body);
    const flipped = Buffer.from(packed).fill(0xff, 12, 20);
    for (const broken of [Buffer.from(body), packed.subarray(0, -4), packed.subarray(0, 10), flipped, Buffer.alloc(0)])
      expectError(await ingest[route](broken, { 'content-encoding': 'gzip' }), 400, 'bad-request');
    for (const [encoding, wrong] of [
      ['br', packed],
      ['deflate', packed],
      ['gzip', deflateRawSync(body)],
      ['gzip', gzipSync(gzipSync(body))],
    ] as const)
      expectError(await ingest[route](wrong, { 'content-encoding': encoding }), 400, 'bad-request');
  }
  expect(await ingest.storedEvents(website)).toEqual([]);
});

test('nesting of hundreds of thousands of levels costs one element or one request, never the process', async () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    for (const depth of [200, 5_000]) {
      const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
      expectError(
        await ingest.send(`{"type":"event","payload":{"website":"${website}","data":${nested}}}`),
        400,
        'bad-request',
      );
    }
    expectError(await ingest.send(open.repeat(60_000 / open.length)), 400, 'bad-request');
    const deep = `${open.repeat(200_000)}1${close.repeat(200_000)}`;
    expect(json(await ingest.batch(`[${deep},${JSON.stringify(event({ url: '/kept' }))}]`))).toMatchObject({
      size: 2,
      processed: 1,
      details: [{ index: 0 }],
    });
    expectError(await ingest.batch(open.repeat(1_000_000)), 400, 'bad-request');
  }
  expect(await ingest.storedEvents(website)).toHaveLength(2);
});

test('a batch of more than 1,000 events, or of a million of anything, is 400 as a whole', async () => {
  const events = (count: number) => Array.from({ length: count }, (_, i) => event({ id: `u${i}` }));
  for (const count of [1, 100, 1_000])
    expect(json(await ingest.batch(events(count)))).toMatchObject({ processed: count });
  const list = events(1_001);
  for (const body of [list, { ...list }, { events: list }, Array(10_000).fill(null)])
    expectError(await ingest.batch(body), 400, 'bad-request');
  expectError(await ingest.batch(`[${'1,'.repeat(1_000_000)}1]`), 400, 'bad-request');
  expectError(await ingest.batch(`[${'[],'.repeat(400_000)}[]]`), 400, 'bad-request');
  expectError(await ingest.batch(`{${'"":0,'.repeat(500_000)}"":0}`), 400, 'bad-request');
  expect(await ingest.storedEvents(website)).toHaveLength(1_101);
});

test('a batch may hold one event of 2 MB; what is over the limit of a route is 413, whatever is in it', async () => {
  expect(json(await ingest.batch([event({ title: 'x'.repeat(2_000_000) })]))).toMatchObject({ processed: 1 });
  for (const [route, bytes] of [
    ['send', 65_537],
    ['send', 3_000_000],
    ['batch', 5_242_881],
  ] as const) {
    for (const filler of ['x', '[', '\u0000', ' '])
      expectError(await ingest[route](filler.repeat(bytes)), 413, 'payload-too-large');
  }
  expect(await ingest.storedEvents(website)).toHaveLength(1);
});
