import { expect, test } from 'vitest';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const hourMs = 3_600_000;
const zoneOf = (name: string): TimeZone => {
  const zone = findTimeZone(name);
  if (zone === null) throw new Error(`unknown zone ${name}`);
  return zone;
};
const iso = (ms: number) => new Date(ms).toISOString();

/** The clock as Intl shows it, asked without our cache. */
function clockOf(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  return (ms) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = format
      .format(ms)
      .split(/[^\d]+/)
      .map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

test('any letter case and old names mean the zone', () => {
  for (const name of ['europe/berlin', 'EUROPE/BERLIN', 'Asia/Saigon', 'Asia/Calcutta', 'US/Pacific', 'Europe/Kiev'])
    expect(findTimeZone(name), name).not.toBeNull();
  expect(zoneOf('us/pacific').offsetMsAt(0)).toBe(zoneOf('America/Los_Angeles').offsetMsAt(0));
});

test('what is no zone by name is none', () => {
  const names = ['', ' ', 'Mars/Base', 'UTC+2', '+05:30', "'; DROP TABLE x; --", '../../etc/passwd', 'localtime'];
  for (const name of [...names, 'posix/Europe/Berlin', 'Factory', 'Etc/GMT+14', '__proto__', 'x'.repeat(10_000)])
    expect(findTimeZone(name), name).toBeNull();
});

test('UTC under all its names is UTC, London in winter is not', () => {
  for (const name of ['UTC', 'utc', 'GMT', 'Etc/UTC', 'Zulu', 'GMT0']) expect(zoneOf(name).isUtc, name).toBe(true);
  expect(zoneOf('Europe/London').isUtc).toBe(false);
});

test('every zone shows at any instant what Intl shows', () => {
  const [from, to] = [Date.UTC(1970, 0, 1), Date.UTC(2045, 0, 1)];
  const instants = Array.from(
    { length: 60 },
    (_, i) => from + Math.floor((((i * 0.618034) % 1) * (to - from)) / 1e3) * 1e3,
  );
  const wrong = Intl.supportedValuesOf('timeZone').filter((name) => {
    const clock = clockOf(name);
    return !instants.every((ms) => ms + zoneOf(name).offsetMsAt(ms) === clock(ms));
  });
  expect(wrong).toEqual([]);
});

test('every change of every clock between 2016 and 2026 is found to the second', () => {
  const [from, to] = [Date.UTC(2016, 0, 1), Date.UTC(2026, 0, 1)];
  const wrong = Intl.supportedValuesOf('timeZone').filter((name) => {
    const clock = clockOf(name);
    const spans = zoneOf(name).spans(from, to);
    return !spans.every(
      ({ startMs, endMs, offsetMs }, i) =>
        startMs + offsetMs === clock(startMs) &&
        endMs === (spans[i + 1]?.startMs ?? to + 1) &&
        (i === 0 || clock(startMs - 1_000) !== clock(startMs) - 1_000),
    );
  });
  expect(wrong).toEqual([]);
});

test('spans are cut to what is asked for', () => {
  const zone = zoneOf('Europe/Berlin');
  const change = Date.UTC(2026, 2, 29, 1);
  expect(zone.spans(change - 1, change + 1)).toEqual([
    { startMs: change - 1, endMs: change, offsetMs: hourMs },
    { startMs: change, endMs: change + 2, offsetMs: 2 * hourMs },
  ]);
  expect(zone.spans(change, change)).toEqual([{ startMs: change, endMs: change + 1, offsetMs: 2 * hourMs }]);
});

test('a local time that is shown twice has a first and a last instant', () => {
  const zone = zoneOf('Europe/Berlin');
  const local = Date.UTC(2026, 9, 25, 2, 30);
  expect(iso(zone.firstInstantAt(local))).toBe('2026-10-25T00:30:00.000Z');
  expect(iso(zone.lastInstantAt(local))).toBe('2026-10-25T01:30:00.000Z');
});

test('a local time that is jumped over is the jump, or the last millisecond before it', () => {
  const zone = zoneOf('Europe/Berlin');
  const local = Date.UTC(2026, 2, 29, 2, 30);
  expect(iso(zone.firstInstantAt(local))).toBe('2026-03-29T01:00:00.000Z');
  expect(iso(zone.lastInstantAt(local))).toBe('2026-03-29T00:59:59.999Z');
});

test('asking every zone for centuries keeps the memory bounded', () => {
  const before = process.memoryUsage().heapUsed;
  for (const name of Intl.supportedValuesOf('timeZone'))
    for (let year = 1800; year < 2200; year++) zoneOf(name).firstInstantAt(Date.UTC(year, 0, 1));
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200e6);
});
