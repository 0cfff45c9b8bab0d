import { type Attributes, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { z } from 'zod';
import { loadConfig } from './config.ts';
import type { Logger } from './logger.ts';
import type { Life } from './process.ts';

const tracer = trace.getTracer('meridian');
let isTracing = false;

/** OpenTelemetry's own names; its SDK reads the others itself. */
export const TracingConfig = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.url().optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
});

/**
 * Sends traces by OTLP (HTTP, JSON) until the process ends, if OpenTelemetry's standard variables name a receiver; what
 * else they say (sampler, headers, resource, limits) holds as well. `service`: its name unless OTEL_SERVICE_NAME gives
 * another.
 * @throws ConfigError for an address that is none
 */
export async function startTracing(
  environment: Record<string, string | undefined>,
  deps: { life: Life; logger: Pick<Logger, 'warn'>; service: string },
): Promise<void> {
  const env = loadConfig(TracingConfig, environment);
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return;
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT && !env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return;
  const { exportTraces } = await import('./export-traces.ts'); // much code, that most processes do without
  deps.life.onStop('tracing', exportTraces(deps));
  isTracing = true;
}

type SpanKindName = 'server' | 'client' | 'consumer';

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };

/**
 * The headers of a request, in which the caller may name the trace that it belongs to; asked only when they are needed.
 */
type TraceHeaders = () => Record<string, string | string[] | undefined>;

/**
 * What is told of a span. Attributes: names of the semantic conventions, of few values each; never a body, an address
 * or a key. `failed`: by a fault of ours, with its kind.
 */
type SpanOutcome = { name: string; attributes: Attributes; failed?: string | undefined };
export type RecordedSpan = SpanOutcome & { kind: SpanKindName; headers?: TraceHeaders };

/**
 * Records what has ended now, as a part of what is under way (`runInSpan`) or of the caller's trace. Costs nothing
 * without tracing. `startedAt`: on the clock of `performance.now`.
 */
export function recordSpan(startedAt: number, describe: () => RecordedSpan): void {
  if (!isTracing) return;
  const { name, kind, attributes, headers, failed } = describe();
  const parent = headers ? propagation.extract(context.active(), headers()) : context.active();
  const span = tracer.startSpan(name, { kind: kinds[kind], attributes, startTime: startedAt }, parent);
  if (failed !== undefined) fail(span, failed);
  span.end();
}

/**
 * Runs something as a span, so that what is recorded meanwhile is a part of it. `describe`: at its end, when all is
 * known.
 */
export async function runInSpan<Value>(
  start: { kind: SpanKindName; headers?: TraceHeaders },
  run: () => Promise<Value>,
  describe: () => SpanOutcome,
): Promise<Value> {
  if (!isTracing) return run();
  const parent = start.headers ? propagation.extract(context.active(), start.headers()) : context.active();
  return tracer.startActiveSpan('', { kind: kinds[start.kind] }, parent, async (span) => {
    try {
      return await run();
    } catch (error) {
      fail(span, error instanceof Error ? error.name : 'error');
      throw error;
    } finally {
      const { name, attributes, failed } = describe();
      span.updateName(name).setAttributes(attributes);
      if (failed !== undefined) fail(span, failed);
      span.end();
    }
  });
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
