/** What a parameter of a query can be. */
export type ParameterValue = string | number | readonly string[] | readonly number[];

const special = /[\t\n\r'\\]/;
const eachSpecial = /[\t\n\r'\\]/g;
const escapes: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'", '\\': '\\\\' };

/**
 * A value as ClickHouse reads `param_<name>`: text escaped as in its TabSeparated format, lists as in SQL. Halves of
 * characters become U+FFFD.
 */
export function toParameterText(value: ParameterValue): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  return `[${value.map((item) => (typeof item === 'string' ? `'${escaped(item)}'` : item)).join(',')}]`;
}

/** Trap: ClickHouse takes 128 KiB at most as a field of a form. */
const fieldMaxBytes = 131_072;

/** Whether a list is short enough for a parameter. */
export function fitsParameter(list: readonly string[]): boolean {
  return Buffer.byteLength(toParameterText(list)) <= fieldMaxBytes;
}

function escaped(text: string): string {
  const known = special.test(text) ? text.replace(eachSpecial, (character) => escapes[character] ?? '') : text;
  return known.toWellFormed();
}
