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

/**
 * The filters of a query string (docs/semantics.md "Filters"). A key is a filter's name, new or old, with an optional
 * number: `path`, `path1` and `url2` are three conditions. The values of one key are alternatives; of those that deny
 * with one operator, all must hold. Empty values and unknown keys are ignored.
 * @throws ApiError 400 for a regular expression that is too long
 */
export function parseFilters(params: URLSearchParams): Filter[] {
  return [...new Set(params.keys())].flatMap((key) => {
    const name = filterNameOf(key);
    return name === null
      ? []
      : toFilter(
          name,
          params.getAll(key).flatMap((text) => parseValue(key, text)),
        );
  });
}

/** The regular expressions in a query string's filters, and the parameters that hold them. */
export function expressionsIn(params: URLSearchParams): { key: string; expression: string }[] {
  return [...params].flatMap(([key, text]) =>
    filterNameOf(key) === null
      ? []
      : parseValue(key, text)
          .filter(({ op }) => isExpression(op))
          .flatMap(({ values }) => values.map((expression) => ({ key, expression }))),
  );
}

export const isExpression = (op: FilterOperator): boolean => op === 're' || op === 'nre';

type OperatorAndValues = Pick<Comparison, 'op' | 'values'>;

/** One condition, or none when every value was empty. */
function toFilter(name: FilterName, parsed: OperatorAndValues[]): Filter[] {
  const valuesByOperator = new Map<FilterOperator, readonly string[]>();
  for (const { op, values } of parsed) valuesByOperator.set(op, [...(valuesByOperator.get(op) ?? []), ...values]);
  const [first, ...others] = [...valuesByOperator].map(([op, values]) => ({ name, op, values }));
  if (!first) return [];
  return others.length === 0 ? [first] : [{ anyOf: [first, ...others] }];
}

/** What has no operator in front is plain, `eq.` escapes. */
function parseValue(key: string, text: string): OperatorAndValues[] {
  const op = filterOperators.find((operator) => text.startsWith(`${operator}.`));
  const value = op === undefined ? text : text.slice(op.length + 1);
  if (!isShortEnough(op ?? 'eq', value))
    throw badRequest(key, `an expression may have at most ${expressionMaxCharacters} characters`);
  return valuesOf(op ?? 'eq', value);
}

/** neq and '/a,/b' -> none of '/a,/b', '/a', '/b'. Nothing for an empty value. */
export function valuesOf(op: FilterOperator, value: string): OperatorAndValues[] {
  if (op === 's' || op === 'ns') return [{ op, values: [] }];
  if (value === '') return [];
  if (op !== 'eq' && op !== 'neq') return [{ op, values: [value] }];
  // The whole value is an alternative too, so that a title with a comma can be asked for.
  const alternatives = value.split(',').filter((part) => part !== '');
  return [{ op, values: [...new Set([value, ...alternatives])] }];
}
