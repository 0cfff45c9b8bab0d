/**
 * The questions' answers over an array of rows, written from docs/semantics.md and not from the SQL: slow and plain.
 * Tests compare the warehouse with it.
 */
import type { EventRow } from '../event-row.ts';
import type { MetricType } from '../queries/dimensions.ts';
import type { LogEvent } from '../queries/event-log-rows.ts';
import type { ExpandedMetric } from '../queries/expanded-metrics.ts';
import type { Metric, MetricOptions } from '../queries/metrics.ts';
import type { Stats } from '../queries/stats.ts';
import type { Cohort, DateRange, Question } from '../question.ts';
import { referenceChannel } from './channel.ts';
import { containsText, fitsSelection } from './fits-filter.ts';

/** A visit over all of its events of type 1 and 2 in the range. */
type WholeVisit = { visitId: string; events: EventRow[]; visitor: string; pageviews: number; seconds: number };
type Visit = WholeVisit & { fitting: EventRow[] };

const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
const distinct = (values: string[]) => new Set(values).size;
const pageviewsOf = (events: EventRow[]) => events.filter((event) => event.eventType === 1).length;
const newestFirst = (a: EventRow, b: EventRow) => b.createdAtMs - a.createdAtMs || (a.eventId < b.eventId ? 1 : -1);

/** The values with the same key together, in the order of their first. */
export function grouped<T>(list: T[], keyOf: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const value of list) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return [...groups.values()];
}

/** An event's id begins with the time of its collection. */
const collectedAtMs = (row: EventRow) => Number.parseInt(row.eventId.replaceAll('-', '').slice(0, 12), 16);

function inRange(rows: EventRow[], { websiteId, range, collectedSince }: Question): EventRow[] {
  const [start, end] = [range.startAt.getTime(), range.endAt.getTime()];
  return rows
    .filter((row) => row.websiteId === websiteId && row.createdAtMs >= start && row.createdAtMs <= end)
    .filter((row) => collectedSince === undefined || collectedAtMs(row) >= collectedSince.getTime());
}

/** What a whole visit decides for its events, by the visit's id. */
type VisitRules = { bounced: Set<string>; members: Set<string> | undefined };

function fits(row: EventRow, question: Question, { bounced, members }: VisitRules): boolean {
  const typed = question.eventType === undefined || row.eventType === question.eventType;
  const kept = !(question.excludeBounce && bounced.has(row.visitId)) && (!members || members.has(row.visitId));
  const inSegment = !question.segment || fitsSelection(row, question.segment);
  return typed && kept && inSegment && fitsSelection(row, question);
}

function wholeVisits(rows: EventRow[], question: Question): WholeVisit[] {
  const events = inRange(rows, question).filter((row) => row.eventType !== 5);
  return grouped(events, (row) => row.visitId)
    .map((group) => group.toSorted((a, b) => newestFirst(b, a)))
    .map((group) => ({
      visitId: group[0]?.visitId ?? '',
      events: group,
      visitor: (group.find((row) => row.distinctId !== '') ?? group[0])?.sessionId ?? '',
      pageviews: pageviewsOf(group),
      seconds: Math.floor(((group.at(-1)?.createdAtMs ?? 0) - (group[0]?.createdAtMs ?? 0)) / 1000),
    }));
}

function rulesOf(rows: EventRow[], question: Question): VisitRules {
  const visits = wholeVisits(rows, question);
  const cohort = question.cohort && membersOf(rows, question, question.cohort);
  return {
    bounced: new Set(visits.filter((visit) => visit.pageviews === 1).map((visit) => visit.visitId)),
    members: cohort && new Set(visits.filter((visit) => cohort.has(visit.visitor)).map((visit) => visit.visitId)),
  };
}

/** Visitors who viewed the page, or did the event, in the cohort's range. */
function membersOf(rows: EventRow[], question: Question, cohort: Cohort): Set<string> {
  const { type, value } = cohort.action;
  const did = (row: EventRow) =>
    (type === 'path' ? row.eventType === 1 && row.urlPath === value : row.eventType === 2 && row.eventName === value) &&
    fitsSelection(row, cohort);
  const visits = wholeVisits(rows, { ...question, range: cohort.range });
  return new Set(visits.filter((visit) => visit.events.some(did)).map((visit) => visit.visitor));
}

/** Visits with an event that fits. */
function visitsOf(rows: EventRow[], question: Question): Visit[] {
  const rules = rulesOf(rows, question);
  return wholeVisits(rows, question)
    .map((visit) => ({ ...visit, fitting: visit.events.filter((row) => fits(row, question, rules)) }))
    .filter((visit) => visit.fitting.length > 0);
}

const numbersOf = (visits: Visit[], carrying = (visit: Visit) => visit.fitting): Stats => ({
  pageviews: sum(visits.map((visit) => pageviewsOf(carrying(visit)))),
  visitors: distinct(visits.map((visit) => visit.visitor)),
  visits: visits.length,
  bounces: visits.filter((visit) => visit.pageviews === 1).length,
  totaltime: sum(visits.map((visit) => visit.seconds)),
});

/** Visitors with an event of type 1 or 2 in the range; the question's own range and filters do not matter. */
export function referenceActive(rows: EventRow[], question: Question, range: DateRange): number {
  return distinct(wholeVisits(rows, { ...question, range }).map((visit) => visit.visitor));
}

export const referenceStats = (rows: EventRow[], question: Question): Stats => numbersOf(visitsOf(rows, question));

export function referenceSeries(rows: EventRow[], question: Question, bucketStarts: number[]) {
  const fitting = visitsOf(rows, question).flatMap((visit) => visit.fitting);
  const buckets = bucketStarts.map((start, i) =>
    fitting.filter(
      (row) => row.createdAtMs >= start && row.createdAtMs < (bucketStarts[i + 1] ?? Number.POSITIVE_INFINITY),
    ),
  );
  return {
    pageviews: buckets.map(pageviewsOf),
    visits: buckets.map((bucket) => distinct(bucket.map((row) => row.visitId))),
  };
}

/** The whole log, newest first. */
export function referenceLog(rows: EventRow[], question: Question, search: string): LogEvent[] {
  const rules = rulesOf(rows, question);
  const contains = (text: string) => containsText(text, search);
  return inRange(rows, question)
    .filter((row) => (question.eventType === 5) === (row.eventType === 5) && fits(row, question, rules))
    .filter((row) => contains(row.urlPath) || contains(row.eventName) || contains(row.pageTitle))
    .sort(newestFirst)
    .map((row) => ({
      id: row.eventId,
      websiteId: row.websiteId,
      sessionId: row.sessionId,
      createdAt: new Date(row.createdAtMs),
      urlPath: row.urlPath,
      urlQuery: row.urlQuery,
      referrerDomain: row.referrerDomain,
      referrerPath: row.referrerPath,
      referrerQuery: row.referrerQuery,
      pageTitle: row.pageTitle,
      hostname: row.hostname,
      eventType: row.eventType,
      eventName: row.eventName,
      distinctId: row.distinctId,
      hasData: row.data !== '',
      browser: row.browser,
      os: row.os,
      device: row.device,
      country: row.country,
      city: row.city,
      tag: row.tag,
    }));
}

const fieldOf = {
  path: 'urlPath',
  title: 'pageTitle',
  query: 'urlQuery',
  hostname: 'hostname',
  event: 'eventName',
  tag: 'tag',
  browser: 'browser',
  os: 'os',
  device: 'device',
  screen: 'screen',
  country: 'country',
  region: 'region',
  city: 'city',
  distinctId: 'distinctId',
  utmSource: 'utmSource',
  utmMedium: 'utmMedium',
  utmCampaign: 'utmCampaign',
  utmContent: 'utmContent',
  utmTerm: 'utmTerm',
} as const satisfies Partial<Record<MetricType, keyof EventRow>>;

/** The value that an event carries, or that its whole visit has. */
function dimensionValue(type: MetricType, row: EventRow, visit: Visit): string {
  const pages = visit.events.filter((event) => event.eventType === 1);
  switch (type) {
    case 'entry':
      return pages[0]?.urlPath ?? '';
    case 'exit':
      return pages.at(-1)?.urlPath ?? '';
    case 'channel':
      return referenceChannel(visit.events[0] ?? row);
    case 'referrer':
    case 'domain':
      return row.referrerDomain === row.hostname.replace(/^www\./, '') ? '' : row.referrerDomain;
    case 'language':
      return row.language.slice(0, 2).toLowerCase();
    default:
      return row[fieldOf[type]];
  }
}

/** The values that contain the text with their five numbers and their rank, in the order of the ranking, cut. */
export function referenceMetrics(
  rows: EventRow[],
  question: Question,
  { type, limit, offset, search = '' }: MetricOptions,
): { metrics: Metric[]; expanded: ExpandedMetric[] } {
  const place = type === 'region' || type === 'city';
  const pairs = visitsOf(rows, question).flatMap((visit) =>
    visit.fitting.map((row) => ({
      visit,
      row,
      x: dimensionValue(type, row, visit),
      country: place ? row.country : '',
    })),
  );
  const ranked = [
    ...grouped(
      pairs.filter((pair) => pair.x !== '' && containsText(pair.x, search)),
      ({ x, country }) => `${x}\0${country}`,
    ),
  ]
    .map((group) => {
      const { x = '', country = '' } = group[0] ?? {};
      const numbers = numbersOf([...new Set(group.map((pair) => pair.visit))], (visit) =>
        group.filter((pair) => pair.visit === visit).map((pair) => pair.row),
      );
      return { x, y: type === 'event' ? group.length : numbers.visitors, place: place ? { country } : {}, numbers };
    })
    .sort(
      (a, b) =>
        b.y - a.y ||
        Buffer.compare(Buffer.from(a.x), Buffer.from(b.x)) ||
        ((a.place.country ?? '') < (b.place.country ?? '') ? -1 : 1),
    )
    .slice(offset, offset + limit);
  return {
    metrics: ranked.map(({ x, y, place }) => ({ x, y, ...place })),
    expanded: ranked.map(({ x, place, numbers }) => ({ name: x, ...place, ...numbers })),
  };
}
