import { afterEach, expect, test } from 'vitest';
import type { HttpServer } from './http/server.ts';
import { createLogger } from './logger.ts';
import { counter } from './metrics.ts';
import { StartError } from './process.ts';
import { serveMetrics, serveMetricsOf } from './serve-metrics.ts';

let server: HttpServer | undefined;
afterEach(() => server?.close(0));

test('/metrics answers in the text format of Prometheus, every other path with 404', async () => {
  server = await serveMetrics([counter('test_things_total', 'Things.', () => 2)], { port: 0, host: '127.0.0.1' });
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics?x=1`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  expect(await answer.text()).toContain('\ntest_things_total 2\n');
  expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(404);
});

test('nothing listens where no port is configured', async () => {
  const stops: string[] = [];
  const life = { onStop: (name: string) => void stops.push(name), stop: async () => {} };
  const logger = createLogger({ service: 'test', level: 'silent' });
  await serveMetricsOf({ life, logger, config: {} }, []);
  expect(stops).toEqual([]);
});

test('a port that is taken is told with its variable', async () => {
  server = await serveMetrics([], { port: 0, host: '127.0.0.1' });
  const { port } = server;
  const second = serveMetrics([], { port, host: '127.0.0.1' });
  await expect(second).rejects.toThrow(StartError);
  await expect(second).rejects.toThrow(`Port ${port} is in use by another program. Set METRICS_PORT to another one.`);
});
