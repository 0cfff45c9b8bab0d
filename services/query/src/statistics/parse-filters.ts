import { filterNames, oldNames } from '@meridian/contract/statistics';
import type { Filter, FilterName, FilterOperator } from '@meridian/warehouse/question';
import { badRequest } from '../http/bad-request.ts';

const expressionMaxCharacters = 200;
const operators: readonly FilterOperator[] = ['eq', 'neq', 'c', 'dnc', 're', 'nre', 's', 'ns'];
const names: ReadonlySet<string> = new Set(filterNames);

/**
 * The filters of a query string (docs/semantics.md "Filters"). A key is a filter's name, new or old, with an optional number: `path`,
 * `path1` and `url2` are three conditions. The values of one key with the same operator are alternatives; of those that
 * deny, all must hold. Empty values and unknown keys are ignored.
 * @throws ApiError 400 for a regular expression that is too long
 */
export function parseFilters(params: URLSearchParams): Filter[] {
  const filters: Filter[] = [];
  for (const key of new Set(params.keys())) {
    const name = filterNameOf(key);
    if (name === null) continue;
    const valuesByOperator = new Map<FilterOperator, string[]>();
    for (const text of params.getAll(key)) {
      const parsed = parseValue(text);
      if (parsed === null) continue;
      const { op, values } = parsed;
      if ((op === 're' || op === 'nre') && values.some((value) => [...value].length > expressionMaxCharacters))
        throw badRequest(key, `an expression may have at most ${expressionMaxCharacters} characters`);
      valuesByOperator.set(op, [...(valuesByOperator.get(op) ?? []), ...values]);
    }
    for (const [op, values] of valuesByOperator) filters.push({ name, op, values });
  }
  return filters;
}

/** 'path', 'path1' and 'url' -> 'path' */
function filterNameOf(key: string): FilterName | null {
  const withoutNumber = key.replace(/\d+$/, '');
  const name = oldNames.get(withoutNumber) ?? withoutNumber;
  return names.has(name) ? (name as FilterName) : null;
}

/** 'neq./a,/b' -> none of '/a,/b', '/a', '/b'. What has no operator in front is plain, `eq.` escapes. */
function parseValue(text: string): { op: FilterOperator; values: string[] } | null {
  const op = operators.find((operator) => text.startsWith(`${operator}.`));
  const value = op === undefined ? text : text.slice(op.length + 1);
  if (op === 's' || op === 'ns') return { op, values: [] };
  if (value === '') return null;
  if (op !== undefined && op !== 'eq' && op !== 'neq') return { op, values: [value] };
  // The whole value is an alternative too, so that a title with a comma can be asked for.
  const alternatives = value.split(',').filter((part) => part !== '');
  return { op: op ?? 'eq', values: [...new Set([value, ...alternatives])] };
}
