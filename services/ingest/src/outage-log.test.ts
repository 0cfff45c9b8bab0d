import { createLogger } from '@meridian/runtime/logger';
import { expect, test } from 'vitest';
import { createOutageLog } from './outage-log.ts';

test('an outage is reported at once, then every 10 seconds with the number of failures', () => {
  const logger = createLogger({ service: 'test', level: 'silent' });
  const lines: unknown[] = [];
  logger.warn = (fields: unknown) => lines.push(fields);
  let nowMs = 0;
  const report = createOutageLog(logger, 'events were not taken', () => nowMs);
  const error = new Error('away');
  for (nowMs = 0; nowMs <= 20_000; nowMs += 1_000) report(error);
  expect(lines).toEqual([
    { err: error, failures: 1 },
    { err: error, failures: 10 },
    { err: error, failures: 10 },
  ]);
});
