import { withoutNul } from '@meridian/contract/text';

/** Well-formed Unicode (lone surrogates become U+FFFD) without NUL. */
export function storableText(text: string): string {
  return withoutNul(text.toWellFormed());
}

/**
 * Makes every text and every key in an object of JSON storable, in place. Of keys that become one, the last counts
 * (keys that are whole numbers come first in every object). `object` must not be nested deeply.
 */
export function makeStorable(object: object): void {
  for (const [key, value] of Object.entries(object)) {
    const name = storableText(key);
    const storable = typeof value === 'string' ? storableText(value) : value;
    if (typeof value === 'object' && value !== null) makeStorable(value);
    // Not what `value` says: a key before may have become this one.
    if (name === key && Reflect.get(object, key) === storable) continue;
    Reflect.deleteProperty(object, key);
    // Not by assignment: `__proto__` may be a key.
    Object.defineProperty(object, name, { value: storable, enumerable: true, configurable: true, writable: true });
  }
}
