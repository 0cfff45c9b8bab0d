/** Names by which events can be filtered. */
export type FilterName =
  | 'path'
  | 'referrer'
  | 'title'
  | 'query'
  | 'os'
  | 'browser'
  | 'device'
  | 'country'
  | 'region'
  | 'city'
  | 'language'
  | 'event'
  | 'utmSource'
  | 'utmMedium'
  | 'utmCampaign'
  | 'utmContent'
  | 'utmTerm'
  | 'tag'
  | 'hostname'
  | 'distinctId';

/** equal, not equal, contains, does not contain, matches, does not match (an expression), set, not set. */
export type FilterOperator = 'eq' | 'neq' | 'c' | 'dnc' | 're' | 'nre' | 's' | 'ns';

/** One condition. Several values are alternatives; of neq, dnc and nre none of them may fit. `s` and `ns` need no value. */
export type Filter = { name: FilterName; op: FilterOperator; values: readonly string[] };

/** Both bounds belong to the range; milliseconds count. */
export type DateRange = { startAt: Date; endAt: Date };

/** Which events of which website a question is about. */
export type Question = {
  websiteId: string;
  range: DateRange;
  /** Events collected before this instant do not count: a reset that is not completed yet. */
  collectedSince?: Date | undefined;
  filters: readonly Filter[];
  /** How the filters combine; eventType and excludeBounce always hold beside them. */
  match: 'all' | 'any';
  eventType?: 1 | 2 | 5 | undefined;
  /** Leaves out visits with exactly one pageview in the range. */
  excludeBounce?: boolean | undefined;
  /** Who asks, for ClickHouse's query log, e.g. `GET /websites/{id}/stats`. */
  route: string;
  /** Ends the query when its caller goes away. */
  signal?: AbortSignal | undefined;
};

/** What ClickHouse did for an answer. */
export type Timing = { elapsedMs: number; rowsRead: number; bytesRead: number };

export type Answer<Value> = { value: Value; timing: Timing };
