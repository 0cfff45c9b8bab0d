import { pendingEvent, toRow } from '@meridian/queue/test-events';
import { expect, test } from 'vitest';
import { toSessionProperties } from './to-session-properties.ts';

const identify = (data: string) => toRow(pendingEvent({ type: 'identify', data }));

test('identify gives its session a property for each key', () => {
  const event = identify('{"plan":"pro","seats":3,"active":true,"__proto__":"x"}');
  const { websiteId, sessionId, eventId, createdAtMs } = event;
  const common = { websiteId, sessionId, eventId, createdAtMs };
  expect(toSessionProperties(event)).toEqual([
    { ...common, key: 'plan', value: 'pro' },
    { ...common, key: 'seats', value: 3 },
    { ...common, key: 'active', value: true },
    { ...common, key: '__proto__', value: 'x' },
  ]);
});

test('without data it gives none; data that are no JSON are an error', () => {
  expect(toSessionProperties(identify(''))).toEqual([]);
  expect(() => toSessionProperties(identify('{'))).toThrow(SyntaxError);
});
