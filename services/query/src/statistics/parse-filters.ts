import type { SegmentParameters } from '@meridian/contract/segments';
import {
  expressionMaxCharacters,
  type FilterName,
  type FilterOperator,
  filterNameOf,
  filterOperators,
  isShortEnough,
} from '@meridian/contract/statistics';
import type { Comparison, Filter } from '@meridian/warehouse/question';
import { badRequest } from '../http/bad-request.ts';
import { storedReferrers } from './stored-referrers.ts';

/**
 * Of the filters of a query string. Beside a segment and a cohort of 50 filters each they make up to 100 KiB of SQL, of
 * the 128 that ClickHouse takes, and 760 of 1,000 parameters.
 */
export const comparisonsMax = 150;

/**
 * The filters of a query string (docs/semantics.md "Filters"). A key is a filter's name, new or old, with an optional
 * number: `path`, `path1` and `url2` are three conditions. The values of one key are alternatives; of those that deny
 * with one operator, all must hold. Empty values and unknown keys are ignored.
 * @throws ApiError 400 for a regular expression that is too long, and for more comparisons than a question may have
 */
export function parseFilters(params: URLSearchParams): Filter[] {
  let comparisons = 0;
  return [...new Set(params.keys())].flatMap((key) => {
    const name = filterNameOf(key);
    if (name === null) return [];
    const filter = toFilter(
      name,
      params.getAll(key).flatMap((text) => parseValue(name, key, text)),
    );
    comparisons += comparisonsIn(filter);
    if (comparisons > comparisonsMax)
      throw badRequest(key, `is too much: the filters of a question may make at most ${comparisonsMax} comparisons`);
    return filter;
  });
}

/** A list of values that are equal or not is one comparison; of other operators each value is one. */
function comparisonsIn(filters: readonly Filter[]): number {
  return filters
    .flatMap((filter) => ('anyOf' in filter ? filter.anyOf : [filter]))
    .reduce((sum, { op, values }) => sum + (comparesLists(op) ? 1 : values.length), 0);
}

const comparesLists = (op: FilterOperator): boolean => op === 'eq' || op === 'neq' || op === 's' || op === 'ns';

/** A regular expression, and the parameter or field that holds it. */
export type FoundExpression = { key: string; expression: string };

/** The regular expressions in a query string's filters. */
export function expressionsIn(params: URLSearchParams): FoundExpression[] {
  return [...params].flatMap(([key, text]) => {
    const name = filterNameOf(key);
    if (name === null) return [];
    return parseValue(name, key, text)
      .filter(({ op }) => isExpression(op))
      .flatMap(({ values }) => values.map((expression) => ({ key, expression })));
  });
}

/** Those in a segment or cohort that is to be stored; empty ones are filters that count for nothing. */
export function expressionsInParameters({ filters }: SegmentParameters): FoundExpression[] {
  return filters.flatMap(({ operator, value }, index) =>
    isExpression(operator) && value !== '' ? [{ key: `parameters.filters.${index}.value`, expression: value }] : [],
  );
}

const isExpression = (op: FilterOperator): boolean => op === 're' || op === 'nre';

type OperatorAndValues = Pick<Comparison, 'op' | 'values'>;

/** One condition, or none when every value was empty. */
function toFilter(name: FilterName, parsed: OperatorAndValues[]): Filter[] {
  const valuesByOperator = new Map<FilterOperator, readonly string[]>();
  for (const { op, values } of parsed) {
    const known = valuesByOperator.get(op);
    valuesByOperator.set(op, known ? [...new Set([...known, ...values])] : values);
  }
  const [first, ...others] = [...valuesByOperator].map(([op, values]) => ({ name, op, values }));
  if (!first) return [];
  return others.length === 0 ? [first] : [{ anyOf: [first, ...others] }];
}

/** What has no operator in front is plain, `eq.` escapes. */
function parseValue(name: FilterName, key: string, text: string): OperatorAndValues[] {
  const op = filterOperators.find((operator) => text.startsWith(`${operator}.`));
  const value = op === undefined ? text : text.slice(op.length + 1);
  if (!isShortEnough(op ?? 'eq', value))
    throw badRequest(key, `an expression may have at most ${expressionMaxCharacters} characters`);
  return valuesOf(name, op ?? 'eq', value);
}

/** neq and '/a,/b' -> none of '/a,/b', '/a', '/b'. Nothing for an empty value. */
export function valuesOf(name: FilterName, op: FilterOperator, value: string): OperatorAndValues[] {
  if (op === 's' || op === 'ns') return [{ op, values: [] }];
  if (value === '') return [];
  if (op !== 'eq' && op !== 'neq') return [{ op, values: [value] }];
  // The whole value is an alternative too, so that a title with a comma can be asked for.
  const alternatives = value.split(',').filter((part) => part !== '');
  const values = name === 'referrer' ? [value, ...alternatives].flatMap(storedReferrers) : [value, ...alternatives];
  return [{ op, values: [...new Set(values)] }];
}
