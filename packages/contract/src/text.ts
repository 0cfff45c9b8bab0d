/**
 * Text of a scalar field as it is stored (docs/semantics.md "Values"): numbers and booleans become text; null, a
 * missing field, an array and an object become ''. Texts are storable already, see storable.ts.
 */
export function toText(value: unknown, maxLength: number): string {
  if (typeof value === 'string') return cutText(value, maxLength);
  return typeof value === 'number' || typeof value === 'boolean' ? cutText(String(value), maxLength) : '';
}

export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

/** Cuts to `maxLength` UTF-16 units, one less where the border would split a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? maxLength - 1 : maxLength);
}
