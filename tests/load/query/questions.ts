import { getActiveVisitors } from '@meridian/warehouse/queries/active-visitors';
import { listEvents } from '@meridian/warehouse/queries/event-log';
import { getMetrics } from '@meridian/warehouse/queries/metrics';
import { getPageviewSeries } from '@meridian/warehouse/queries/pageview-series';
import { getStats } from '@meridian/warehouse/queries/stats';
import type { Question } from '@meridian/warehouse/question';
import type { ReadFrom } from '@meridian/warehouse/read-from';
import type { RunQuery } from '@meridian/warehouse/run-query';
import { days } from './data.ts';

const dayMs = 86_400_000;

/**
 * One question in three forms. `ask`: as the product asks it. `plain`: as systems with one raw table do, in which
 * `{scope}` stands for website, range and type. `column`: what it must read at least, the scan limit. Without `plain`
 * there is nothing to compare with.
 */
export type BenchQuestion = {
  name: string;
  days: number;
  /**
   * What its range is: up to the last event of the data, or whole days; else one that ends two hours before the data do,
   * in the middle of visits.
   */
  range?: 'up to last event' | 'whole days';
  ask(run: RunQuery, question: Question, from: ReadFrom): Promise<unknown>;
  plain?: string;
  column: string;
  /** At most, ms in the middle, for the big website. */
  atMost10M: number;
  atMost100M?: number;
};

const byVisit = (select: string, inner: string, having = '') =>
  `SELECT ${select} FROM (SELECT visit_id, any(session_id) AS visitor, countIf(event_type = 1) AS views, dateDiff('second', min(created_at), max(created_at)) AS seconds${inner} FROM plain_events WHERE {scope} GROUP BY visit_id${having})`;

const fiveNumbers = (visitors: 'uniqExact' | 'uniq') =>
  `sum(views), ${visitors}(visitor), count(), countIf(views = 1), sum(seconds)`;
const filter = (name: 'path' | 'country', value: string): Partial<Question> => ({
  filters: [{ name, op: 'eq', values: [value] }],
});

const stats = (name: string, change: Partial<Question>, plainHaving: string, atMost100M: number): BenchQuestion => ({
  name,
  days: 30,
  ask: (run, question, from) => getStats(run, { ...question, ...change }, from),
  plain: byVisit(fiveNumbers(change.approximate ? 'uniq' : 'uniqExact'), '', plainHaving),
  column: 'event_type',
  atMost10M: 100,
  atMost100M,
});

type Panel = 'path' | 'title' | 'country' | 'browser' | 'screen' | 'entry' | 'exit' | 'referrer' | 'channel' | 'event';

/**
 * A panel of a dashboard: the ten values that most visitors have. `plainValue`: of a visit; without it of each event.
 */
const metric = (type: Panel, plainValue: string | undefined, column: string, atMost100M?: number): BenchQuestion => ({
  name: `metrics ${type}, top 10`,
  days: 30,
  ask: (run, question, from) => getMetrics(run, question, { type, limit: 10, offset: 0 }, from),
  plain: plainValue
    ? `SELECT x, uniqExact(visitor) AS y FROM (SELECT visit_id, any(session_id) AS visitor, ${plainValue} AS x FROM plain_events WHERE {scope} GROUP BY visit_id) WHERE x != '' GROUP BY x ORDER BY y DESC LIMIT 10`
    : `SELECT ${column} AS x, ${type === 'event' ? 'count()' : 'uniqExact(session_id)'} AS y FROM plain_events WHERE {scope} AND x != '' GROUP BY x ORDER BY y DESC LIMIT 10`,
  column: `length(${column})`,
  atMost10M: 100,
  ...(atMost100M && { atMost100M }),
});

const log = (
  name: string,
  search: string | undefined,
  range: number,
  atMost10M: number,
  atMost100M?: number,
): BenchQuestion => ({
  name,
  days: range,
  ask: (run, question, from) => listEvents(run, question, { offset: 0, limit: 20 }, { search }, from),
  plain: `SELECT *, (SELECT count() FROM plain_events WHERE {scope}${search ? ` AND (url_path ILIKE '%${search}%' OR page_title ILIKE '%${search}%' OR event_name ILIKE '%${search}%')` : ''}) FROM plain_events WHERE {scope}${search ? ` AND (url_path ILIKE '%${search}%' OR page_title ILIKE '%${search}%' OR event_name ILIKE '%${search}%')` : ''} ORDER BY created_at DESC LIMIT 20`,
  column: search ? 'length(url_path)' : 'event_type',
  atMost10M,
  ...(atMost100M && { atMost100M }),
});

/** Starts of the days of a zone of +05:45 in the range. */
const dayStarts = (question: Question): number[] => {
  const offset = 5.75 * 3_600_000;
  const first = Math.floor((question.range.startAt.getTime() + offset) / dayMs) * dayMs - offset;
  const starts = [];
  for (let at = first; at <= question.range.endAt.getTime(); at += dayMs) starts.push(at);
  return starts;
};

/** What a dashboard asks. */
export const questions: BenchQuestion[] = [
  stats('stats', {}, '', 250),
  stats('stats, approximate', { approximate: true }, '', 50),
  stats('stats, country', filter('country', 'DE'), ` HAVING countIf(country = 'DE') > 0`, 150),
  stats('stats, hot path', filter('path', '/0'), ` HAVING countIf(url_path = '/0') > 0`, 300),
  stats('stats, rare path', filter('path', '/docs/40002'), ` HAVING countIf(url_path = '/docs/40002') > 0`, 300),
  {
    name: 'series by day, +05:45',
    days: 30,
    ask: (run, question, from) => getPageviewSeries(run, question, dayStarts(question), from),
    plain: `SELECT toStartOfDay(created_at, 'Asia/Kathmandu') AS day, countIf(event_type = 1), uniqExact(visit_id) FROM plain_events WHERE {scope} GROUP BY day`,
    column: 'toUnixTimestamp64Milli(created_at)',
    atMost10M: 100,
    atMost100M: 150,
  },
  metric('country', 'any(country)', 'country', 60),
  metric('browser', 'any(browser)', 'browser'),
  metric('screen', 'any(screen)', 'screen'),
  metric('path', undefined, 'url_path', 400),
  metric('title', undefined, 'page_title'),
  metric('entry', 'argMinIf(url_path, created_at, event_type = 1)', 'url_path', 400),
  metric('exit', 'argMaxIf(url_path, created_at, event_type = 1)', 'url_path'),
  metric('referrer', 'any(referrer_domain)', 'referrer_domain'),
  metric('event', undefined, 'event_name'),
  log('event log, page 1', undefined, 30, 100, 25),
  { ...log('event log, page 1 of whole days', undefined, 30, 100, 25), range: 'whole days' },
  {
    ...log('event log, page 1,000', undefined, 30, 100, 25),
    ask: (run, question, from) => listEvents(run, question, { offset: 19_980, limit: 20 }, {}, from),
  },
  {
    ...log('event log, behind the 2,000,000th', undefined, 30, 100, 25),
    ask: (run, question, from) => listEvents(run, question, { offset: 2_000_000, limit: 20 }, {}, from),
  },
  log('event log, rare word', 'needle', days, 500),
  {
    name: 'active visitors',
    days: 5 / (24 * 60),
    range: 'up to last event',
    ask: (run, question) => getActiveVisitors(run, question, question.range),
    plain: 'SELECT uniqExact(session_id) FROM plain_events WHERE {scope}',
    column: 'event_type',
    atMost10M: 100,
    atMost100M: 10,
  },
];
