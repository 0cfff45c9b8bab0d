import { fitsParameter } from './parameter-text.ts';
import type { Bind } from './query.ts';
import type { Comparison, Filter, FilterName, FilterOperator } from './question.ts';

/** The column that each filter looks at. */
export const filterColumn = {
  path: 'url_path',
  referrer: 'referrer_domain',
  title: 'page_title',
  query: 'url_query',
  os: 'os',
  browser: 'browser',
  device: 'device',
  country: 'country',
  region: 'region',
  city: 'city',
  language: 'language',
  event: 'event_name',
  utmSource: 'utm_source',
  utmMedium: 'utm_medium',
  utmCampaign: 'utm_campaign',
  utmContent: 'utm_content',
  utmTerm: 'utm_term',
  tag: 'tag',
  hostname: 'hostname',
  distinctId: 'distinct_id',
} as const;

/** How the filters that do not simply compare text compare a value. */
const equality: Partial<Record<FilterName, typeof equalsIgnoringCase>> = {
  os: equalsIgnoringCase,
  browser: equalsIgnoringCase,
  country: equalsIgnoringCase,
  region: equalsIgnoringCase,
  city: equalsIgnoringCase,
  device: (column, values, bind) => equalsIgnoringCase(column, values.map(toDevice), bind),
  language: equalsLanguage,
  referrer: equalsReferrer,
};

const negations = { neq: 'eq', dnc: 'c', nre: 're', ns: 's' } as const satisfies Partial<
  Record<FilterOperator, FilterOperator>
>;

/** The condition under which an event fits the filter (docs/semantics.md "Filters"). */
export function filterCondition(filter: Filter, bind: Bind): string {
  if (!('anyOf' in filter)) return comparisonCondition(filter, bind);
  return anyOf(filter.anyOf.map((comparison) => comparisonCondition(comparison, bind)));
}

function comparisonCondition({ name, op, values }: Comparison, bind: Bind): string {
  const column = filterColumn[name];
  switch (op) {
    case 'neq':
    case 'dnc':
    case 'nre':
    case 'ns':
      return `NOT ${comparisonCondition({ name, op: negations[op], values }, bind)}`;
    case 's':
      return `(${column} != '')`;
    case 'c':
      return anyOf(elements(inLists(values.map(foldCase), bind)).map((text) => contains(column, text)));
    case 're':
      return matchesAny(column, values, bind);
    case 'eq':
      return (equality[name] ?? equalsExactly)(column, values, bind);
  }
}

/** Text in a column, whatever its letter case; no character has a meaning of its own. */
export function containsText(column: string, text: string, bind: Bind): string {
  return contains(column, bind(foldCase(text), 'String'));
}

/** Trap: ClickHouse's own searches without regard to case overlook Greek, and more the more rows there are. */
const contains = (column: string, foldedText: string) => `position(${caseFolded(column)}, ${foldedText}) > 0`;

/**
 * Text of a column without letter case, and of a question: here, as ClickHouse makes a set of constants alone. Greek's
 * two small sigmas are one letter.
 */
const caseFolded = (column: string) => `replaceAll(lowerUTF8(${column}), 'ς', 'σ')`;
const foldCase = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');

/**
 * RE2. The second half is a constant, which is computed before any row is read: so an invalid expression fails where
 * there are none, too.
 */
export function matchesAny(column: string, expressions: readonly string[], bind: Bind): string {
  const patterns = expressions.map((expression) => `(?i)${expression}`);
  const lists = inLists(patterns, bind);
  const areValid = lists.map(({ list }) => `arrayAll(pattern -> match('', pattern) IN (0, 1), ${list})`);
  const matches = elements(lists).map((pattern) => `match(${column}, ${pattern})`);
  return `(${anyOf(matches)} AND ${areValid.join(' AND ')})`;
}

export function equalsExactly(column: string, values: readonly string[], bind: Bind): string {
  return anyOf(inLists(values, bind).map(({ list }) => `${column} IN ${list}`));
}

function equalsIgnoringCase(column: string, values: readonly string[], bind: Bind): string {
  return equalsExactly(caseFolded(column), values.map(foldCase), bind);
}

/** The first parts of a language tag, of which `en-GB` has two, in one spelling; all of them where it has fewer. */
const languageParts = (column: string, parts: number | string) =>
  `substringIndex(replaceAll(${caseFolded(column)}, '_', '-'), '-', ${parts})`;

/** `en` is every English: en, en-GB, en_US. */
function equalsLanguage(column: string, values: readonly string[], bind: Bind): string {
  const wanted = values.map((value) => foldCase(value).replaceAll('_', '-'));
  const counts = [...new Set(wanted.map((tag) => tag.split('-').length))];
  const isWanted = (parts: number | string) => equalsExactly(languageParts(column, parts), wanted, bind);
  // Written once for all of them, as a question's SQL has 128 KiB at most.
  return counts.length === 1 ? isWanted(counts[0] ?? 1) : `arrayExists(parts -> ${isWanted('parts')}, [${counts}])`;
}

/**
 * Of a domain and a path both are compared, as one text: the first slash is where the path begins. The domain is looked
 * at first, so that few paths have to be read.
 */
function equalsReferrer(column: string, values: readonly string[], bind: Bind): string {
  const domains = values.filter((value) => !value.includes('/'));
  const pages = values.filter((value) => value.includes('/'));
  const conditions = domains.length > 0 ? [equalsExactly(column, domains, bind)] : [];
  if (pages.length > 0) {
    const isDomain = equalsExactly(column, [...new Set(pages.map(domainOf))], bind);
    const isPage = equalsExactly(`concat(${column}, referrer_path)`, pages.flatMap(withRoot), bind);
    conditions.push(`(${isDomain} AND ${isPage})`);
  }
  return anyOf(conditions);
}

const domainOf = (page: string) => page.slice(0, page.indexOf('/'));

/** The root may be stored as nothing. */
const withRoot = (page: string) => (page === `${domainOf(page)}/` ? [page, domainOf(page)] : [page]);

const toDevice = (value: string) => (value.toLowerCase() === 'laptop' ? 'desktop' : value);

type BoundList = { list: string; length: number };

/**
 * Values as one parameter, however many they are: ClickHouse takes 1,000 parameters at most. Trap: one holds 128 KiB at
 * most, so a list that is longer goes in several.
 */
function inLists(values: readonly string[], bind: Bind): BoundList[] {
  if (values.length < 2 || fitsParameter(values))
    return [{ list: bind(values, 'Array(String)'), length: values.length }];
  const half = Math.floor(values.length / 2);
  return [values.slice(0, half), values.slice(half)].flatMap((part) => inLists(part, bind));
}

/**
 * Constants for functions that take no list. A lambda over it would be shorter, but takes 75 times as long, and
 * gigabytes.
 */
const elements = (lists: BoundList[]) =>
  lists.flatMap(({ list, length }) => Array.from({ length }, (_, index) => `${list}[${index + 1}]`));

const anyOf = (conditions: string[]) => (conditions.length === 0 ? '(0)' : `(${conditions.join(' OR ')})`);
