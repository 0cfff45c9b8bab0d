import type { RequestListener } from 'node:http';
import { listenOrSay } from './http/listen-or-say.ts';
import { answerNotFound, answerPlainly } from './http/process-routes.ts';
import type { HttpServer } from './http/server.ts';
import type { Logger } from './logger.ts';
import { createMetricsText, type Metric } from './metrics.ts';
import type { Life } from './process.ts';

const stopGraceMs = 1_000;

/**
 * Answers GET /metrics on a port of its own, which the public need not reach. Throws StartError when the port is taken.
 */
export async function serveMetrics(
  metrics: readonly Metric[],
  options: { port: number; host?: string },
): Promise<HttpServer> {
  const text = createMetricsText(metrics);
  const answer: RequestListener = (request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') return answerNotFound(response);
    text.read().then(
      (body) => response.writeHead(200, { 'content-type': text.contentType }).end(body),
      () => answerPlainly(response, 500, { ok: false }),
    );
  };
  return listenOrSay('METRICS_PORT', answer, options);
}

/** Serves a process's metrics from now until it ends, if its configuration names a port for them. */
export async function serveMetricsOf(
  { life, logger, config }: { life: Life; logger: Logger; config: MetricsSettings },
  metrics: readonly Metric[],
): Promise<void> {
  if (config.METRICS_PORT === undefined) return;
  const server = await serveMetrics(metrics, { port: config.METRICS_PORT, ...(config.HOST && { host: config.HOST }) });
  life.onStop('metrics', () => server.close(stopGraceMs));
  logger.info({ port: server.port }, 'serving metrics');
}

type MetricsSettings = { METRICS_PORT?: number | undefined; HOST?: string | undefined };
