import { z } from 'zod';
import { pageQuery, wholeNumberFrom } from './paging.ts';

/** Filters that compare a stored value, as the query string names them. */
export const filterNames = [
  'path',
  'referrer',
  'title',
  'query',
  'os',
  'browser',
  'device',
  'country',
  'region',
  'city',
  'language',
  'event',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmContent',
  'utmTerm',
  'tag',
  'hostname',
  'distinctId',
] as const;
export type FilterName = (typeof filterNames)[number];

/** What may stand before a filter's value, with a dot. */
export const filterOperators = ['eq', 'neq', 'c', 'dnc', 're', 'nre', 's', 'ns'] as const;
export type FilterOperator = (typeof filterOperators)[number];

/** Of a regular expression. */
export const expressionMaxCharacters = 200;

/** Names that older clients send for filters and for `type` of metrics. */
export const oldNames: ReadonlyMap<string, string> = new Map([
  ['url', 'path'],
  ['host', 'hostname'],
  ['pageTitle', 'title'],
  ['eventName', 'event'],
  ['utm_source', 'utmSource'],
  ['utm_medium', 'utmMedium'],
  ['utm_campaign', 'utmCampaign'],
  ['utm_content', 'utmContent'],
  ['utm_term', 'utmTerm'],
  ['distinct_id', 'distinctId'],
]);

/**
 * The filter of a key: its name, new or old, with an optional number ('path', 'path1', 'url2' -> 'path'); null for
 * other keys.
 */
export function filterNameOf(key: string): FilterName | null {
  // Trap: without the look behind every digit of a run in the middle would be tried as its first.
  const withoutNumber = key.replace(/(?<!\d)\d+$/, '');
  const name = oldNames.get(withoutNumber) ?? withoutNumber;
  return filterNames.find((known) => known === name) ?? null;
}

/** Whether the value can be used with the operator: an expression may not be too long. */
export function isShortEnough(operator: FilterOperator, value: string): boolean {
  return (operator !== 're' && operator !== 'nre') || [...value].length <= expressionMaxCharacters;
}

export const Unit = z.enum(['minute', 'hour', 'day', 'month', 'year']);
export type Unit = z.infer<typeof Unit>;

/** prev: the period of the same length just before; yoy: the same bounds one calendar year earlier. */
export const Compare = z.enum(['prev', 'yoy']);
export type Compare = z.infer<typeof Compare>;

export const MetricType = z.enum([...filterNames, 'entry', 'exit', 'domain', 'channel', 'screen']);
export type MetricType = z.infer<typeof MetricType>;

const unixMs = z
  .string()
  .regex(/^-?\d{1,16}(\.\d+)?$/, 'must be a Unix time in milliseconds')
  .transform((text) => Math.floor(Number(text)))
  .meta({ type: 'number', pattern: undefined });

/** A given value of any kind means yes, also "0" and "false". */
const given = z.string().transform(() => true as const);

const range = {
  startAt: unixMs
    .optional()
    .describe('Start of the range, included, in milliseconds since 1970. Wins over `startDate`.'),
  endAt: unixMs.optional().describe('End of the range, included, in milliseconds since 1970. Wins over `endDate`.'),
  startDate: z
    .string()
    .optional()
    .describe('Start of the range as an ISO 8601 date or datetime, in `timezone` unless it has an offset.'),
  endDate: z
    .string()
    .optional()
    .describe('End of the range; a date without a time is the whole day. Without any bound: the last 24 hours.'),
  timezone: z.string().default('UTC').describe('IANA name of the time zone in which days begin.'),
  // Where they shape no answer they are only checked.
  unit: Unit.optional().describe('Length of a bucket of a series.'),
  compare: Compare.optional().describe(
    'Adds the same numbers of another range. prev: of the same length, just before; yoy: one calendar year earlier.',
  ),
};

/** What selects events beside the filters that compare a value. */
const selection = {
  match: z.enum(['all', 'any']).default('all').describe('Whether all filters must fit an event or any of them.'),
  eventType: z
    .enum(['1', '2', '5'])
    .transform((text) => Number(text) as 1 | 2 | 5)
    .meta({ type: 'integer', enum: [1, 2, 5] })
    .optional()
    .describe('1 pageviews, 2 custom events, 5 performance.'),
  excludeBounce: given.optional().describe('Any value leaves out visits with exactly one pageview.'),
  segment: z.string().optional().describe('Id of a segment, whose filters apply too.'),
  cohort: z.string().optional().describe('Id of a cohort, to whose visitors the question is limited.'),
};

export const SelectionQuery = z.object(selection);
export type SelectionQuery = z.infer<typeof SelectionQuery>;

export const RangeQuery = z.object(range);
export type RangeQuery = z.infer<typeof RangeQuery>;

export const StatsQuery = z.object({
  ...range,
  ...selection,
  approximate: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('Whether visitors may be estimated: usually within half a percent, and faster where they are many.'),
});

export const PageviewsQuery = z.object({
  ...range,
  ...selection,
  unit: Unit.default('day').describe('Length of a bucket; at most 10,000 buckets.'),
});

export const EventsQuery = z.object({
  ...range,
  ...selection,
  ...pageQuery,
  cursor: z
    .string()
    .optional()
    .describe('Where to go on reading: `nextCursor` of an earlier answer. Takes the place of `page`.'),
  search: z.string().default('').describe('Part of a path, an event name or a title, in any letter case.'),
});

export const MetricsQuery = z.object({
  ...range,
  ...selection,
  type: z
    .string({ error: 'is required' })
    .transform((name) => oldNames.get(name) ?? name)
    .pipe(MetricType)
    .meta({ enum: MetricType.options })
    .describe('What the rows are values of.'),
  limit: wholeNumberFrom(1)
    .transform((n) => Math.min(n, 1_000))
    .default(500)
    .describe('Rows; cut to 1,000.'),
  offset: wholeNumberFrom(0).default(0).describe('Rows to leave out in front.'),
  search: z.string().default('').describe('Part of the value, in any letter case.'),
});

/** The five numbers. */
export const Stats = z.object({
  pageviews: z.number(),
  visitors: z.number(),
  visits: z.number(),
  bounces: z.number().describe('Visits with exactly one pageview.'),
  totaltime: z.number().describe('Sum of the lengths of all visits, in seconds.'),
});
export type Stats = z.infer<typeof Stats>;

export const StatsAnswer = Stats.extend({ comparison: Stats.optional() });
export type StatsAnswer = z.infer<typeof StatsAnswer>;

export const TimeSeriesPoint = z.object({
  x: z.string().describe("The date on which the bucket starts; for minutes and hours its time with the zone's offset."),
  y: z.number(),
});

/** Both series have the same labels. Instants are ISO 8601, `Z`. */
export const Series = z.object({
  pageviews: z.array(TimeSeriesPoint),
  sessions: z.array(TimeSeriesPoint).describe('Visits.'),
  startDate: z.iso.datetime(),
  endDate: z.iso.datetime(),
});
export type Series = z.infer<typeof Series>;

export const PageviewsAnswer = Series.extend({ compare: Series.optional() });
export type PageviewsAnswer = z.infer<typeof PageviewsAnswer>;

export const ActiveAnswer = z.object({ visitors: z.number().describe('Visitors of the last five minutes.') });
export type ActiveAnswer = z.infer<typeof ActiveAnswer>;

/** A row of the event log; what is unset is ''. */
export const WebsiteEvent = z.object({
  id: z.uuid(),
  websiteId: z.guid(),
  sessionId: z.uuid(),
  createdAt: z.iso.datetime(),
  urlPath: z.string(),
  urlQuery: z.string(),
  referrerDomain: z.string(),
  referrerPath: z.string(),
  referrerQuery: z.string(),
  pageTitle: z.string(),
  hostname: z.string(),
  eventType: z.number().describe('1 pageview, 2 custom event, 5 performance.'),
  eventName: z.string(),
  distinctId: z.string(),
  hasData: z.boolean(),
  browser: z.string(),
  os: z.string(),
  device: z.string(),
  country: z.string(),
  city: z.string(),
  tag: z.string(),
});
export type WebsiteEvent = z.infer<typeof WebsiteEvent>;

export const EventsAnswer = z.object({
  count: z.number().describe('All that match, at most `maxResults`.'),
  data: z.array(WebsiteEvent),
  page: z.number(),
  pageSize: z.number(),
  isCapped: z.boolean().describe('More match than `maxResults`.'),
  nextCursor: z.string().nullable().describe('`cursor` of the next page; null on the last.'),
});
export type EventsAnswer = z.infer<typeof EventsAnswer>;

const country = z.string().optional().describe('Of a region or a city.');

export const Metric = z.object({
  x: z.string().describe('The value.'),
  y: z.number().describe('Visitors; for `type=event` events.'),
  country,
});
export type Metric = z.infer<typeof Metric>;

export const ExpandedMetric = Stats.extend({ name: z.string().describe('The value.'), country });
export type ExpandedMetric = z.infer<typeof ExpandedMetric>;
