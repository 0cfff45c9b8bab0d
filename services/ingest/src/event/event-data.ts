import { dataPropertiesMax, textLimits } from '@meridian/contract/collect';
import { cutText } from '@meridian/contract/text';

/**
 * Of a long name what lies behind this cannot be seen any more, not even at a cut between the halves of a character.
 */
const nameMaxLength = textLimits.dataKey + 1;

/**
 * Custom properties as the text of one flat JSON object, '' when there are none (docs/semantics.md "Values"): nested
 * objects are flattened with dots, arrays become JSON text, null and what JSON cannot hold (1e400) is dropped, the
 * first 100 properties count. Integers beyond 2^53 were rounded by the JSON parser already. `data` must not be nested
 * deeply.
 */
export function flattenData(data: object): string {
  // Without a prototype, so that __proto__ is a key like any other.
  const flat: Properties = Object.create(null);
  const count = addProperties(flat, data, '', 0);
  return count === 0 ? '' : JSON.stringify(flat);
}

type Properties = Record<string, string | number | boolean>;

/** Returns how many properties `flat` has afterwards, which were `count` before. */
function addProperties(flat: Properties, object: object, prefix: string, count: number): number {
  for (const key of Object.keys(object)) {
    if (count >= dataPropertiesMax) break;
    const value = (object as Record<string, unknown>)[key];
    // Cut at every level: an object with a huge name and many properties would cost the product of the two.
    const path = (prefix === '' ? '' : `${prefix}.`) + cutText(key, nameMaxLength);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      count = addProperties(flat, value, path.slice(0, nameMaxLength), count);
      continue;
    }
    const storable = toStorable(value);
    if (storable === null) continue;
    const name = cutText(path, textLimits.dataKey);
    if (!(name in flat)) count++;
    flat[name] = storable;
  }
  return count;
}

function toStorable(value: unknown): string | number | boolean | null {
  if (typeof value === 'string') return cutText(value, textLimits.dataValue);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  return Array.isArray(value) ? cutText(JSON.stringify(value), textLimits.dataValue) : null;
}
