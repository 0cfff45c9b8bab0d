import { expect, test } from 'vitest';
import type { EventRow } from '../event-row.ts';
import { createTestSite } from '../test-site.ts';
import { createWarehouse } from '../warehouse.ts';
import { grouped, referenceMetrics, referenceStats } from './answers.ts';
import { createChance, randomData, randomQuestion } from './random-data.ts';

/** Rows are only made, nothing is asked. */
const warehouse = createWarehouse('http://127.0.0.1:1');
const hourMs = 3_600_000;
const quarterMs = 900_000;

const chance = createChance(1);
const sites = Array.from({ length: 100 }, () => randomData(chance, createTestSite(warehouse)));
const visits = sites.flatMap(({ rows }) => grouped(rows, (row) => row.visitId));

const shareOfVisits = (holds: (events: EventRow[]) => boolean) => visits.filter(holds).length / visits.length;
const times = (events: EventRow[]) => events.map((row) => row.createdAtMs);
const lengthMs = (events: EventRow[]) => Math.max(...times(events)) - Math.min(...times(events));
/** How much earlier than the time in the visit's id its first event is. */
const lateMs = (events: EventRow[]) =>
  Number.parseInt(events[0]?.visitId.replaceAll('-', '').slice(0, 12) ?? '', 16) - Math.min(...times(events));
const kinds = (events: EventRow[], field: keyof EventRow) => new Set(events.map((row) => row[field])).size;

test('random visits are of every length, some are seen late, some by hours', () => {
  expect(shareOfVisits((events) => lengthMs(events) > hourMs)).toBeGreaterThan(0.1);
  expect(shareOfVisits((events) => lengthMs(events) > 15 * hourMs)).toBeGreaterThan(0.005);
  expect(shareOfVisits((events) => lateMs(events) > 0)).toBeGreaterThan(0.1);
  expect(shareOfVisits((events) => lateMs(events) > 5 * hourMs)).toBeGreaterThan(0.005);
});

test('most random visits keep one browser and place, others do not; some have no pageview, some are identified', () => {
  const long = (events: EventRow[]) => events.length > 3;
  const stable = (events: EventRow[]) => kinds(events, 'browser') === 1 && kinds(events, 'city') === 1;
  const [all, kept] = [shareOfVisits(long), shareOfVisits((events) => long(events) && stable(events))];
  expect(kept / all).toBeGreaterThan(0.5);
  expect(kept / all).toBeLessThan(0.8);
  expect(shareOfVisits((events) => events.every((row) => row.eventType === 2))).toBeGreaterThan(0.05);
  expect(shareOfVisits((events) => kinds(events, 'distinctId') === 2)).toBeGreaterThan(0.05);
  expect(shareOfVisits((events) => events.every((row) => row.distinctId !== ''))).toBeGreaterThan(0.1);
});

test('random questions reach every channel, cut visits in two, are about whole quarters, and have an answer mostly', () => {
  const questions = sites.flatMap((data) =>
    Array.from({ length: 5 }, () => ({ data, question: randomQuestion(chance, data) })),
  );
  const channels = questions.flatMap(({ data, question }) =>
    referenceMetrics(data.rows, question, { type: 'channel', limit: 100, offset: 0 }).metrics.map(({ x }) => x),
  );
  expect(new Set(channels).size).toBe(15);
  const answered = questions.filter(({ data, question }) => referenceStats(data.rows, question).visits > 0);
  expect(answered.length / questions.length).toBeGreaterThan(0.5);
  const cutting = questions.filter(({ data, question }) => {
    const [start, end] = [question.range.startAt.getTime(), question.range.endAt.getTime()];
    return data.rows.some((row) => row.createdAtMs === start) && data.rows.some((row) => row.createdAtMs > end);
  });
  expect(cutting.length / questions.length).toBeGreaterThan(0.03);
  const whole = questions.filter(({ question: { range } }) =>
    [range.startAt.getTime(), range.endAt.getTime() + 1].every((ms) => ms % quarterMs === 0),
  );
  expect(whole.length / questions.length).toBeGreaterThan(0.1);
});
