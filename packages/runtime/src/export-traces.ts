import { setTimeout as delay } from 'node:timers/promises';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Logger } from './logger.ts';

/** What is not sent by then is lost: a receiver that is away must not hold up the end of a process. */
const stopGraceMs = 2_000;

/**
 * Sends every span that is recorded from now on to the receiver that the environment names. Gives what sends the rest
 * and ends it.
 */
export function exportTraces({ logger, service }: { logger: Pick<Logger, 'warn'>; service: string }) {
  const warn = (...parts: unknown[]): void => logger.warn({ message: parts.map(String).join(' ') }, 'traces');
  const quiet = (): void => {};
  diag.setLogger({ error: warn, warn, info: quiet, debug: quiet, verbose: quiet }, DiagLogLevel.WARN);
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': service }))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return async (): Promise<void> => {
    await Promise.race([provider.shutdown().catch(quiet), delay(stopGraceMs)]);
  };
}
