import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@meridian/embedded/ports';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { always, chrome, createWebsite, logIn, request, type Stats } from '../api-client.ts';
import { type Process, startProcess, untilReady } from '../processes.ts';
import { makeServiceImage } from '../service-image.ts';
import { createStores } from '../stores.ts';

/** As OTLP writes it in JSON, of what is looked at here. */
type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: object }[];
};
type Export = { resourceSpans: { resource: { attributes: Span['attributes'] }; scopeSpans: { spans: Span[] }[] }[] };

const services = ['ingest', 'query', 'worker'] as const;
const images = mkdtempSync(join(tmpdir(), 'meridian-traces-'));
const processes: Process[] = [];
const origins = new Map<string, string>();
const spans: (Span & { service: unknown })[] = [];
const bodies: string[] = [];
let receiver: Server;
let drop: () => Promise<unknown>;

beforeAll(async () => {
  receiver = createServer(async (incoming, answer) => {
    const body = await text(incoming);
    bodies.push(body);
    for (const { resource, scopeSpans } of (JSON.parse(body) as Export).resourceSpans) {
      const service = attributeOf(resource.attributes, 'service.name');
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
    }
    answer.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const address = receiver.address() as { port: number };
  const stores = await createStores();
  drop = stores.drop;
  const env = {
    ...stores.env,
    APP_SECRET: 'a secret of the tests of traces, long enough',
    ADMIN_PASSWORD: 'a test password',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${address.port}`,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
  };
  const migration = startProcess('npm', ['run', '--silent', 'migrate'], env);
  if ((await migration.exited) !== 0) throw new Error(migration.output());
  for (const service of services) {
    await makeServiceImage(service, join(images, service));
    const port = await freePort();
    const started = startProcess('node', [join(images, service, 'bin/main.js')], { ...env, PORT: String(port) });
    processes.push(started);
    origins.set(service, `http://127.0.0.1:${port}`);
    await untilReady(started, `${origins.get(service)}/readyz`);
  }
}, 180_000);

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  receiver?.close();
  await drop?.();
  rmSync(images, { recursive: true });
});

const attributeOf = (attributes: Span['attributes'], key: string): unknown =>
  Object.values(attributes.find((attribute) => attribute.key === key)?.value ?? {})[0];

const named = (name: string) => spans.filter((span) => span.name === name);

test('requests and batches are spans, a question is a part of its request, a request is a part of its caller’s trace', async () => {
  const owner = await logIn(`${origins.get('query')}/api`, 'admin', 'a test password');
  const website = await createWebsite(owner);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const sent = await request('POST', `${origins.get('ingest')}/api/send`, {
    headers: { 'user-agent': chrome, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    body: { type: 'event', payload: { website: website.id, url: '/a-secret-path' } },
  });
  expect(sent.status).toBe(200);
  await expect.poll(async () => (await owner.get<Stats>(`/websites/${website.id}/stats`, always())).pageviews).toBe(1);

  await expect.poll(() => named('INSERT').length, { timeout: 10_000 }).toBeGreaterThan(0);
  await expect.poll(() => named('SELECT').length, { timeout: 10_000 }).toBeGreaterThan(0);
  await expect
    .poll(() => named('POST /api/send'), { timeout: 10_000 })
    .toMatchObject([{ service: 'meridian-ingest', traceId }]);
  const [send] = named('POST /api/send');
  expect(attributeOf(send?.attributes ?? [], 'http.response.status_code')).toBe(200);

  const parentOf = (name: string) => spans.find(({ spanId }) => spanId === named(name)[0]?.parentSpanId);
  await expect
    .poll(() => parentOf('SELECT'))
    .toMatchObject({ name: 'GET /api/websites/:websiteId/stats', service: 'meridian-query' });
  await expect.poll(() => parentOf('INSERT')).toMatchObject({ name: 'process events', service: 'meridian-worker' });
  for (const secret of [website.id, 'a-secret-path', '127.0.0.1']) expect(bodies.join()).not.toContain(secret);
});

test('a process ends in time although the receiver of its traces hangs', async () => {
  receiver.removeAllListeners('request');
  await request('GET', `${origins.get('query')}/api/heartbeat`, {});
  const [, query] = processes;
  query?.kill('SIGTERM');
  expect(await query?.exited).toBe(0);
});
