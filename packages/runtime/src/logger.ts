import { type Logger, pino } from 'pino';
import type { z } from 'zod';
import type { logLevel } from './config.ts';

export type { Logger };

type LogLevel = z.infer<typeof logLevel>;

/**
 * JSON lines on stdout. Levels by who must act: error = page someone, warn = look tomorrow.
 * Callers never log a body, an address or a key.
 */
export function createLogger(options: { service: string; region?: string; level?: LogLevel }): Logger {
  const { service, region, level = 'info' } = options;
  return pino({ level, base: { service, ...(region && { region }) }, timestamp: pino.stdTimeFunctions.isoTime });
}
