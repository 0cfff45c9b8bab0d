import { expect, test } from 'vitest';
import { type RawEntry, toLogBatch } from './log-batch.ts';
import { lanes } from './log-keys.ts';
import { packRows, unpackRows } from './packed-rows.ts';
import { eventsOf, pendingEvent, rawEntry, toRow } from './test-events.ts';

const visitId = '019eb10d-d800-7abc-8def-0123456789ab';
const otherVisitId = '019eb10d-d900-7abc-8def-0123456789ab';
const many = Array.from({ length: 40 }, (_, i) => pendingEvent({ urlPath: `/page/${i}`, data: 'x'.repeat(i * 100) }));

function withFields([id, fields]: RawEntry, changes: Record<string, Buffer>): RawEntry {
  return [id, fields.map((field, i) => (i % 2 === 1 && changes[String(fields[i - 1])]) || field)];
}
const fieldOf = ([, fields]: RawEntry, name: string): Buffer =>
  fields[fields.findIndex((field) => field.toString() === name) + 1] ?? Buffer.alloc(0);
const readBack = (...entries: RawEntry[]) => {
  const batch = toLogBatch('live', [entries], false);
  return { urls: eventsOf(batch.rows).map((event) => event.urlPath), unreadable: batch.unreadable };
};

test('every field of every type of event survives the way through the log, with the visit of its own', () => {
  const events = [
    pendingEvent(),
    pendingEvent({ type: 'custom', eventName: 'buy', data: '{"price":9.5,"name":"\\u0001 é"}', distinctId: 'user-1' }),
    pendingEvent({ type: 'identify', distinctId: 'user-1', data: '{"plan":"pro"}' }),
    pendingEvent({ type: 'performance', lcp: 1200.5, inp: 0, fcp: null, ttfb: 80, cls: 0.02 }),
  ];
  const visitIds = [visitId, otherVisitId, visitId, otherVisitId];
  const batch = toLogBatch('live', [[rawEntry(events, visitIds)]], false);
  expect(eventsOf(batch.rows)).toEqual(events.map((event, i) => toRow(event, visitIds[i])));
  expect(batch.unreadable).toEqual([]);
});

test('entries of any size become rows one behind the other, in order', () => {
  const sizes = [1, 40, 2, 0, 3, 1];
  const entries = sizes.map((size) => rawEntry(many.slice(0, size), Array(size).fill(visitId)));
  const batch = toLogBatch('live', [entries.slice(0, 3), [], entries.slice(4)], false);
  const expected = sizes.flatMap((size) => many.slice(0, size));
  expect(eventsOf(batch.rows)).toEqual(expected.map((event) => toRow(event, visitId)));
  expect(batch.rows.starts[batch.rows.count]).toBe(batch.rows.bytes.length);
});

test('entries of the same ids in two lanes are two batches: what one call appends to both has the same id in each', () => {
  const entry = rawEntry(many.slice(0, 1), [visitId]);
  const [live, backfill] = lanes.map((lane) => toLogBatch(lane, [[entry]], false));
  expect(live?.entryIds).toEqual(backfill?.entryIds);
  expect(live?.token).not.toBe(backfill?.token);
});

// Entries may wait in a log while the code is replaced: what a version wrote must stay readable as long as any can lie
// there.
test('an entry written by format version 3 stays readable', () => {
  const rows =
    'AAIAAPorF0ZQTz4tHAuPfm1cSzopiAB5+bCeAQAA/3f73A2xngGriWdFIwH/v21cSzouHQxf5dTDsqGQf44AAAIA9C0BDHNob3AuZXhhbXBsZQovY2Fmw6kvYSJiB3g9MSZ5PTITU2hvZXMg8J+RnwphbmQJbW9yZQ5zZWFyY2g2APFLBS9maW5kB3E9c2hvZXMAAWEAB0ZpcmVmb3gFTGludXgHZGVza3RvcAkxOTIweDEwODAFZGUtREUCREUFREUtQkUGQmVybGluBG5ld3MABGp1bmUAAAADZi0xqwAQAQEAD/AANR8F8ACPAgIAMsKSQAkAQQAAAAEGANAAAFRAAHsUrkfhepQ/';
  const createdAtMs = Date.parse('2026-06-10T10:00:00.000Z');
  const performance = { type: 'performance', lcp: 1200.5, inp: 0, ttfb: 80, cls: 0.02 } as const;
  const events = [pendingEvent({ createdAtMs }), pendingEvent({ ...performance, createdAtMs })];
  const entry = withFields(rawEntry(events, [visitId, otherVisitId]), {
    v: Buffer.from('3'),
    rows: Buffer.from(rows, 'base64'),
  });
  expect(eventsOf(toLogBatch('live', [[entry]], false).rows)).toEqual([
    toRow(pendingEvent({ createdAtMs }), visitId),
    toRow(pendingEvent({ ...performance, createdAtMs }), otherVisitId),
  ]);
});

const good = rawEntry(many.slice(0, 20), Array(20).fill(visitId));
const rows = fieldOf(good, 'rows');
test.each<[string, Record<string, Buffer>]>([
  ['bytes that are no LZ4 block', { rows: Buffer.from('not packed at all') }],
  ['rows that are cut off', { rows: rows.subarray(0, 300) }],
  ['a length of gigabytes', { rows: Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff]), rows.subarray(4)]) }],
  ['nothing', { rows: Buffer.alloc(0) }],
  ['other bytes than rows', { rows: packRows(Buffer.from('something else entirely'.repeat(100))) }],
  ['more rows than visit ids', { visitIds: Buffer.alloc(16 * 19) }],
  ['more visit ids than rows', { visitIds: Buffer.alloc(16 * 21) }],
  ['half a visit id', { visitIds: Buffer.alloc(16 * 19 + 8) }],
  ['no visit ids', { visitIds: Buffer.alloc(0) }],
])('an entry with %s is set aside as it is, and costs its neighbours nothing', (_, changes) => {
  const [before, bad, after] = [
    rawEntry([pendingEvent({ urlPath: '/before' })], [visitId]),
    withFields(good, changes),
    rawEntry([pendingEvent({ urlPath: '/after' })], [visitId]),
  ];
  const { urls, unreadable } = readBack(before, bad, after);
  expect(urls).toEqual(['/before', '/after']);
  expect(unreadable).toEqual([
    { partition: 0, reason: expect.stringContaining('unreadable'), entry: expect.any(String), eventCount: 20 },
  ]);
  const kept = JSON.parse(unreadable[0]?.entry ?? '').map((text: string) => Buffer.from(text, 'base64'));
  expect(kept).toEqual(bad[1]);
});

test('a row of an unknown type of event makes its entry unreadable', () => {
  const entry = rawEntry([pendingEvent()], [visitId]);
  const bytes = unpackRows(fieldOf(entry, 'rows'));
  bytes[72] = 4;
  expect(readBack(withFields(entry, { rows: packRows(bytes) })).unreadable).toHaveLength(1);
});
