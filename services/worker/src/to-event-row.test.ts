import { pendingEvent } from '@meridian/queue/test-events';
import { expect, test } from 'vitest';
import { toEventRow, toSessionPropertyRows } from './to-event-row.ts';

const visitId = '019eb10d-d800-7abc-8def-0123456789ab';

test('an event becomes a row with the number of its type', () => {
  expect(toEventRow({ ...pendingEvent(), visitId })).toMatchObject({ ...pendingEvent(), visitId, eventType: 1 });
  expect(toEventRow({ ...pendingEvent({ type: 'custom' }), visitId })?.eventType).toBe(2);
  expect(toEventRow({ ...pendingEvent({ type: 'performance', lcp: 9.5 }), visitId })).toMatchObject({
    eventType: 5,
    lcp: 9.5,
  });
});

test('identify is no row, but a property of its session for each key', () => {
  const data = '{"plan":"pro","seats":3,"active":true,"__proto__":"x"}';
  const event = { ...pendingEvent({ type: 'identify', data }), visitId };
  const { websiteId, sessionId, eventId, createdAtMs } = event;
  const common = { websiteId, sessionId, eventId, createdAtMs };
  expect(toEventRow(event)).toBeNull();
  expect(toSessionPropertyRows(event)).toEqual([
    { ...common, key: 'plan', value: 'pro' },
    { ...common, key: 'seats', value: 3 },
    { ...common, key: 'active', value: true },
    { ...common, key: '__proto__', value: 'x' },
  ]);
});

test('only identify gives properties', () => {
  expect(toSessionPropertyRows({ ...pendingEvent({ type: 'custom', data: '{"price":1}' }), visitId })).toEqual([]);
  expect(toSessionPropertyRows({ ...pendingEvent({ type: 'identify', data: '' }), visitId })).toEqual([]);
});
