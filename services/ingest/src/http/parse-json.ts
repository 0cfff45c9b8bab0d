import { hasMoreValues } from '@meridian/runtime/http/json-values';

const byteOrderMark = 0xfeff;

/**
 * `hasEscapes`: some text may hold NUL or a lone surrogate: bytes of UTF-8 hold no surrogates and JSON no NUL, but for
 * escapes (`\\u0000`).
 */
export type ParsedJson = { ok: true; value: unknown; hasEscapes: boolean } | { ok: false; message: string };

/** Values that a body may hold at most: far more than a real batch has. */
const defaultValuesMax = 300_000;

/** Parses a body as JSON, whatever its content type; a BOM is skipped and bytes that are not UTF-8 become U+FFFD. */
export function parseJson(body: Buffer, valuesMax = defaultValuesMax): ParsedJson {
  if (hasMoreValues(body, valuesMax))
    return { ok: false, message: `The JSON must not hold more than ${valuesMax} values.` };
  const text = body.toString('utf8');
  try {
    const value: unknown = JSON.parse(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
    return { ok: true, value, hasEscapes: text.includes('\\u') };
  } catch {
    return { ok: false, message: 'The body is not valid JSON.' };
  }
}
