import { expect, test } from 'vitest';
import { createCollectCounts } from './collect-counts.ts';
import { createRouteWatch } from './route-watch.ts';

/** The lines that are logged of 100 requests. */
function linesAt(sampleRate: number): object[] {
  const lines: object[] = [];
  const logger = { info: (fields: object) => void lines.push(fields) };
  const watch = createRouteWatch({ route: 'send', counts: createCollectCounts(), logger, sampleRate });
  for (let i = 0; i < 100; i++) watch.answered({ requestId: `r${i}`, startedAt: 5, request: { headers: {} } }, 200, 12);
  return lines;
}

test('a sampled request is one line with its route and answer, and nothing of what it brought', () => {
  expect(linesAt(1)).toHaveLength(100);
  expect(linesAt(1)[3]).toEqual({ requestId: 'r3', route: 'send', status: 200, durationMs: 7 });
});

test('nothing is logged at rate 0, and a part of the requests in between', () => {
  expect(linesAt(0)).toEqual([]);
  const some = linesAt(0.5).length;
  expect(some > 0 && some < 100).toBe(true);
});
