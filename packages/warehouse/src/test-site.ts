import { randomUUID } from 'node:crypto';
import { type EventRow, setVisitId, writeEventRow } from './event-row.ts';
import type { Question } from './question.ts';
import type { Warehouse } from './warehouse.ts';

/** A UTC instant in milliseconds. '10:05' and '10:05:30.250' mean 2026-06-10. */
export const at = (time: string) => Date.parse(/^\d\d:\d\d/.test(time) ? `2026-06-10T${time}Z` : time);

/** A UUIDv7 of that time. `count` makes ids of one time different, and orders them as text (4,096 of them). */
export function uuidV7(ms: number, count: number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  const [time, low] = [hex(ms, 12), count % 4096];
  // The second half, which ClickHouse compares first, orders them the other way round.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(low, 3)}-8${hex(4095 - low, 3)}-${hex(count, 12)}`;
}

/** An event of a test: who, when, and what differs from an empty pageview. `visit` and `session` are names. */
export type TestEvent = Partial<Omit<EventRow, 'createdAtMs' | 'visitId' | 'sessionId'>> & {
  t: string | number;
  session?: string;
  visit?: string;
  /** Time of collection; the event's time unless given. */
  collectedAt?: number;
};

const emptyRow = {
  eventType: 1,
  hostname: 'shop.example',
  urlPath: '/',
  urlQuery: '',
  pageTitle: '',
  referrerDomain: '',
  referrerPath: '',
  referrerQuery: '',
  eventName: '',
  tag: '',
  distinctId: '',
  browser: '',
  os: '',
  device: '',
  screen: '',
  language: '',
  country: '',
  region: '',
  city: '',
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  utmContent: '',
  utmTerm: '',
  gclid: '',
  fbclid: '',
  msclkid: '',
  ttclid: '',
  liFatId: '',
  twclid: '',
  data: '',
  lcp: null,
  inp: null,
  fcp: null,
  ttfb: null,
  cls: null,
} as const;

/** The rows as they are inserted. */
export function toBlock(rows: readonly EventRow[]): Buffer[] {
  return rows.map((row) => {
    let bytes = Buffer.alloc(0);
    let length = 0;
    const reserve = (size: number): Buffer => {
      bytes = Buffer.alloc(size);
      return bytes;
    };
    writeEventRow(
      {
        reserve,
        length: () => 0,
        advance: (size) => {
          length = size;
        },
      },
      row,
      row.eventType,
      uuidBytes(row.eventId),
    );
    setVisitId(bytes, 0, uuidBytes(row.visitId), 0);
    return bytes.subarray(0, length);
  });
}

const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** A website of its own for one test. Rows are made from short forms; names of visits and sessions become ids. */
export function createTestSite(warehouse: Warehouse, websiteId: string = randomUUID()) {
  const visitIds = new Map<string, string>();
  const sessionIds = new Map<string, string>();
  let count = 0;

  function toRow({ t, session = 'u', visit = session, collectedAt, ...fields }: TestEvent): EventRow {
    const createdAtMs = typeof t === 'number' ? t : at(t);
    return {
      ...emptyRow,
      websiteId,
      createdAtMs,
      eventId: uuidV7(collectedAt ?? createdAtMs, ++count),
      visitId: remember(visitIds, visit, () => uuidV7(createdAtMs, ++count)),
      sessionId: remember(sessionIds, session, () => randomUUID()),
      ...fields,
    };
  }

  return {
    websiteId,
    toRow,
    /** Stores the events as one block and returns its rows. */
    async insert(events: readonly TestEvent[]): Promise<EventRow[]> {
      const rows = events.map(toRow);
      await warehouse.insertEvents(toBlock(rows), randomUUID());
      return rows;
    },
    /** About June 2026, everything, unless told otherwise. */
    ask: (question: Partial<Question> = {}): Question => ({
      websiteId,
      range: { startAt: new Date('2026-06-01T00:00:00Z'), endAt: new Date('2026-06-30T23:59:59.999Z') },
      filters: [],
      match: 'all',
      route: 'test',
      ...question,
    }),
  };
}

function remember(ids: Map<string, string>, name: string, make: () => string): string {
  const id = ids.get(name) ?? make();
  ids.set(name, id);
  return id;
}
