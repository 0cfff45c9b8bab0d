import type { filterColumn } from './filters.ts';

/** Names by which events can be filtered. */
export type FilterName = keyof typeof filterColumn;

/** equal, not equal, contains, does not contain, matches, does not match (an expression), set, not set. */
export type FilterOperator = 'eq' | 'neq' | 'c' | 'dnc' | 're' | 'nre' | 's' | 'ns';

/**
 * Several values are alternatives; of neq, dnc and nre none of them may fit. `s` and `ns` need no value. Referrers that
 * are equal or not are a domain, or a domain and a path: `ref.example/x`, both as events have them.
 */
export type Comparison = { name: FilterName; op: FilterOperator; values: readonly string[] };

/** One condition: a comparison, or several of which one must hold. */
export type Filter = Comparison | { anyOf: readonly Comparison[] };

/** Filters and how they combine. */
export type Selection = { filters: readonly Filter[]; match: 'all' | 'any' };

/** Both bounds belong to the range; milliseconds count. */
export type DateRange = { startAt: Date; endAt: Date };

/**
 * Visitors, as stats counts them: those who in the range viewed the page or did the custom event, by an event that fits
 * the filters as well.
 */
export type Cohort = Selection & { range: DateRange; action: { type: 'path' | 'event'; value: string } };

/**
 * Which events of which website a question is about. Its own filters combine as `match` says, all else always holds.
 */
export type Question = Selection & {
  websiteId: string;
  range: DateRange;
  /** Events collected before this instant do not count: a reset that is not completed yet. */
  collectedSince?: Date | undefined;
  segment?: Selection | undefined;
  /** Only visits whose visitor belongs to it. */
  cohort?: Cohort | undefined;
  eventType?: 1 | 2 | 5 | undefined;
  /** Leaves out visits with exactly one pageview in the range. */
  excludeBounce?: boolean | undefined;
  /** The visitors of stats may be estimated. */
  approximate?: boolean | undefined;
  /** Who asks, for ClickHouse's query log, e.g. `GET /api/websites/:websiteId/stats`. */
  route: string;
  /** Ends the query when its caller goes away. */
  signal?: AbortSignal | undefined;
};

/** What ClickHouse did for an answer. */
export type Timing = { elapsedMs: number; rowsRead: number; bytesRead: number };

export type Answer<Value> = { value: Value; timing: Timing };
