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
      return anyOf(values.map((value) => containsText(column, value, bind)));
    case 're':
      return anyOf(values.map((value) => matchesExpression(column, value, bind)));
    case 'eq':
      return (equality[name] ?? equalsExactly)(column, values, bind);
  }
}

/** Text in a column, whatever its letter case; no character has a meaning of its own. */
export function containsText(column: string, text: string, bind: Bind): string {
  return `positionCaseInsensitiveUTF8(${column}, ${bind(text, 'String')}) > 0`;
}

/**
 * RE2. The second half is a constant, which is computed before any row is read: so an invalid expression fails where
 * there are none, too.
 */
export function matchesExpression(column: string, expression: string, bind: Bind): string {
  const pattern = bind(`(?i)${expression}`, 'String');
  return `(match(${column}, ${pattern}) AND match('', ${pattern}) IN (0, 1))`;
}

/** Trap: a parameter holds 128 KiB at most, so a long list goes in several. */
export function equalsExactly(column: string, values: readonly string[], bind: Bind): string {
  if (values.length < 2 || fitsParameter(values)) return `(${column} IN ${bind(values, 'Array(String)')})`;
  const half = Math.floor(values.length / 2);
  return anyOf([values.slice(0, half), values.slice(half)].map((part) => equalsExactly(column, part, bind)));
}

function equalsIgnoringCase(column: string, values: readonly string[], bind: Bind): string {
  return `has(${lowered(values, bind)}, lowerUTF8(${column}))`;
}

/** `en` is every English: en, en-GB, en_US. */
function equalsLanguage(column: string, values: readonly string[], bind: Bind): string {
  const language = `replaceAll(lowerUTF8(${column}), '_', '-')`;
  const wanted = lowered(
    values.map((value) => value.replaceAll('_', '-')),
    bind,
  );
  return `arrayExists(wanted -> ${language} = wanted OR startsWith(${language}, concat(wanted, '-')), ${wanted})`;
}

/** A URL means its host and path, anything else a domain. */
function equalsReferrer(column: string, values: readonly string[], bind: Bind): string {
  return anyOf(
    values.map((value) => {
      const url = /^https?:\/\//i.test(value) && URL.canParse(value) ? new URL(value) : null;
      const domain = `${column} = ${bind(withoutWww((url?.hostname ?? value).toLowerCase()), 'String')}`;
      return url ? `(${domain} AND referrer_path IN ${bind(storedPaths(url), 'Array(String)')})` : domain;
    }),
  );
}

/** A path as it may be stored: as sent, decoded, and the root also as nothing. */
function storedPaths({ pathname, hash }: URL): string[] {
  const path = pathname + hash;
  return [...new Set([path, decoded(path), ...(path === '/' ? [''] : [])])];
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const withoutWww = (domain: string) => domain.replace(/^www\./, '');

const toDevice = (value: string) => (value.toLowerCase() === 'laptop' ? 'desktop' : value);

const lowered = (values: readonly string[], bind: Bind) =>
  `arrayMap(value -> lowerUTF8(value), ${bind(values, 'Array(String)')})`;

const anyOf = (conditions: string[]) => (conditions.length === 0 ? '(0)' : `(${conditions.join(' OR ')})`);
