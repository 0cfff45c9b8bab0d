import { expect, test } from 'vitest';
import { formatEventCursor, parseEventCursor } from './event-cursor.ts';

const eventId = '0190a5f0-0000-7000-8000-000000000001';
const textOf = (content: string) => Buffer.from(content).toString('base64url');

test('a cursor is read as it was written', () => {
  const cursor = { createdAtMs: Date.UTC(2026, 5, 10), eventId, position: 20 };
  expect(parseEventCursor(formatEventCursor(cursor))).toEqual(cursor);
  const last = { createdAtMs: Date.UTC(2300, 0, 1) - 1, eventId, position: 999_999_999_999_999 };
  expect(parseEventCursor(formatEventCursor(last))).toEqual(last);
});

test.each([
  ...['', 'x', `1.${eventId}`, `-1.${eventId}.1`, `1.5.${eventId}.1`, `1e3.${eventId}.1`, `1.${eventId}.1.1`],
  ...[`${Date.UTC(2300, 0, 1)}.${eventId}.1`, `8640000000000001.${eventId}.1`, `9999999999999999.${eventId}.1`],
  ...[`1.${eventId}.0`, `1.${eventId}.-1`, `1.${eventId}.9999999999999999`, `1.${eventId}.`],
  ...['1.g190a5f0-0000-7000-8000-000000000001.1', `1.${eventId}0.1`, '1.1.1', `1.{${eventId}}.1`],
])('what no event can have is no cursor: %s', (content) => {
  expect(parseEventCursor(textOf(content))).toBeNull();
});
