import { expect, test } from 'vitest';
import { createSessionIds } from './session-ids.ts';

const [w1, w2] = ['0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50', '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f51'] as const;
const ids = createSessionIds('a secret of at least thirty-two bytes');
const otherIds = createSessionIds('another secret of at least 32 bytes..');
const june = Date.parse('2026-06-01T00:00:00Z');
const client = (website: string, address: string, userAgent: string, time: string | number) =>
  ids.ofClient(website, address, userAgent, typeof time === 'number' ? time : Date.parse(time));

test('they are UUIDs in the form of version 5', () => {
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  for (let i = 0; i < 200; i++) expect(ids.ofId(w1, `user-${i}`)).toMatch(uuid);
});

test('an id is one session per website, for ever and whatever the secret', () => {
  expect(ids.ofId(w1, 'u')).toBe(otherIds.ofId(w1, 'u'));
  // The value itself: it must not change with a release, or every identified visitor would be a new one.
  expect(ids.ofId(w1, 'u')).toMatchInlineSnapshot(`"605ee53b-d45d-52b6-bbea-39cbaa0232cd"`);
  expect(new Set([ids.ofId(w1, 'u'), ids.ofId(w2, 'u'), ids.ofId(w1, 'v'), client(w1, 'u', '', june)]).size).toBe(4);
});

test('without an id it is website, address, User-Agent and UTC month that make the session', () => {
  const session = client(w1, '203.0.113.7', 'curl/8', '2026-06-01T00:00:00Z');
  expect(client(w1, '203.0.113.7', 'curl/8', '2026-06-30T23:59:59.999Z')).toBe(session);
  const others = [
    client(w2, '203.0.113.7', 'curl/8', june),
    client(w1, '203.0.113.8', 'curl/8', june),
    client(w1, '203.0.113.7', 'curl/9', june),
    client(w1, '203.0.113.7', 'curl/8', '2026-07-01T00:00:00Z'),
    client(w1, '203.0.113.7', 'curl/8', '2027-06-01T00:00:00Z'),
    otherIds.ofClient(w1, '203.0.113.7', 'curl/8', june),
  ];
  expect(new Set([session, ...others]).size).toBe(others.length + 1);
});

test('the months of a long backfill keep their sessions', () => {
  const months = Array.from({ length: 300 }, (_, i) => Date.UTC(2000, i, 15));
  const first = months.map((time) => client(w1, '203.0.113.7', 'curl/8', time));
  expect(new Set(first).size).toBe(300);
  expect(months.map((time) => client(w1, '203.0.113.7', 'curl/8', time))).toEqual(first);
});
