import { z } from 'zod';

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

/** The filter of a key: its name, new or old, with an optional number ('path', 'path1', 'url2' -> 'path'); null for other keys. */
export function filterNameOf(key: string): FilterName | null {
  const withoutNumber = key.replace(/\d+$/, '');
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

const wholeNumber = (from: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${from}`)
    .transform(Number)
    .refine((n) => n >= from, `must be a whole number from ${from}`);

const unixMs = z
  .string()
  .regex(/^-?\d{1,15}(\.\d+)?$/, 'must be a Unix time in milliseconds')
  .transform((text) => Math.floor(Number(text)));

/** A given value of any kind means yes, also "0" and "false". */
const given = z.string().transform(() => true as const);

const range = {
  startAt: unixMs.optional(),
  endAt: unixMs.optional(),
  /** ISO 8601 date or datetime. */
  startDate: z.string().optional(),
  endDate: z.string().optional(),
  /** IANA name. */
  timezone: z.string().default('UTC'),
  /** Where they shape no answer they are only checked. */
  unit: Unit.optional(),
  compare: Compare.optional(),
};

/** What selects events beside the filters that compare a value. */
const selection = {
  match: z.enum(['all', 'any']).default('all'),
  eventType: z
    .enum(['1', '2', '5'])
    .transform((text) => Number(text) as 1 | 2 | 5)
    .optional(),
  excludeBounce: given.optional(),
  segment: z.string().optional(),
  cohort: z.string().optional(),
};

export const SelectionQuery = z.object(selection);
export type SelectionQuery = z.infer<typeof SelectionQuery>;

export const RangeQuery = z.object(range);
export type RangeQuery = z.infer<typeof RangeQuery>;

export const StatsQuery = z.object({ ...range, ...selection });

export const PageviewsQuery = z.object({ ...StatsQuery.shape, unit: Unit.default('day') });

export const EventsQuery = z.object({
  ...range,
  ...selection,
  page: wholeNumber(1).default(1),
  /** Cut to 1,000. */
  pageSize: wholeNumber(1)
    .transform((n) => Math.min(n, 1_000))
    .default(20),
  maxResults: wholeNumber(1).optional(),
  /** Where to go on reading, as an earlier answer gave it; takes the place of `page`. */
  cursor: z.string().optional(),
  search: z.string().default(''),
});

export const MetricsQuery = z.object({
  ...range,
  ...selection,
  type: z
    .string({ error: 'is required' })
    .transform((name) => oldNames.get(name) ?? name)
    .pipe(MetricType),
  /** Cut to 1,000. */
  limit: wholeNumber(1)
    .transform((n) => Math.min(n, 1_000))
    .default(500),
  offset: wholeNumber(0).default(0),
  search: z.string().default(''),
});

/** The five numbers; `totaltime` in seconds. */
export const Stats = z.object({
  pageviews: z.number(),
  visitors: z.number(),
  visits: z.number(),
  bounces: z.number(),
  totaltime: z.number(),
});
export type Stats = z.infer<typeof Stats>;

export const StatsAnswer = Stats.extend({ comparison: Stats.optional() });
export type StatsAnswer = z.infer<typeof StatsAnswer>;

/** `x`: the date on which the bucket starts; for minutes and hours its time with the zone's offset. */
export const TimeSeriesPoint = z.object({ x: z.string(), y: z.number() });

/** Both series have the same labels; `sessions` counts visits. Instants are ISO 8601, `Z`. */
export const Series = z.object({
  pageviews: z.array(TimeSeriesPoint),
  sessions: z.array(TimeSeriesPoint),
  startDate: z.iso.datetime(),
  endDate: z.iso.datetime(),
});
export type Series = z.infer<typeof Series>;

export const PageviewsAnswer = Series.extend({ compare: Series.optional() });
export type PageviewsAnswer = z.infer<typeof PageviewsAnswer>;

/** Visitors of the last five minutes. */
export const ActiveAnswer = z.object({ visitors: z.number() });
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
  /** 1 pageview, 2 custom event, 5 performance. */
  eventType: z.number(),
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
  /** All that match, at most `maxResults`. */
  count: z.number(),
  data: z.array(WebsiteEvent),
  page: z.number(),
  pageSize: z.number(),
  /** More match than `maxResults`. */
  isCapped: z.boolean(),
  nextCursor: z.string().nullable(),
});
export type EventsAnswer = z.infer<typeof EventsAnswer>;

/** `y`: visitors, for `type=event` events. Regions and cities name their country. */
export const Metric = z.object({ x: z.string(), y: z.number(), country: z.string().optional() });
export type Metric = z.infer<typeof Metric>;

export const ExpandedMetric = Stats.extend({ name: z.string(), country: z.string().optional() });
export type ExpandedMetric = z.infer<typeof ExpandedMetric>;
