const byteOrderMark = 0xfeff;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openingBracket = 0x5b;
const openingBrace = 0x7b;

/** `hasEscapes`: some text may hold NUL or a lone surrogate: bytes of UTF-8 hold no surrogates and JSON no NUL, but for escapes (`\\u0000`). */
export type ParsedJson = { ok: true; value: unknown; hasEscapes: boolean } | { ok: false; message: string };

/**
 * Values that a body may hold at most, counted as its commas and opening brackets. V8 needs a second for a body of
 * 5 MB that is nothing but brackets, digits or keys, where a real batch of that size takes a few hundredths.
 */
const defaultValuesMax = 300_000;

/** Parses a body as JSON, whatever its content type; a BOM is skipped and bytes that are not UTF-8 become U+FFFD. */
export function parseJson(body: Buffer, valuesMax = defaultValuesMax): ParsedJson {
  if (body.length > valuesMax && hasMoreValues(body, valuesMax))
    return { ok: false, message: `The JSON must not hold more than ${valuesMax} values.` };
  const text = body.toString('utf8');
  try {
    const value: unknown = JSON.parse(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
    return { ok: true, value, hasEscapes: text.includes('\\u') };
  } catch {
    return { ok: false, message: 'The body is not valid JSON.' };
  }
}

function hasMoreValues(body: Buffer, max: number): boolean {
  let count = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (byte === quote) i = stringEnd(body, i);
    else if ((byte === comma || byte === openingBracket || byte === openingBrace) && ++count > max) return true;
  }
  return false;
}

/** Position of the quote that ends the string whose first quote is at `start`. */
function stringEnd(body: Buffer, start: number): number {
  for (let end = body.indexOf(quote, start + 1); end !== -1; end = body.indexOf(quote, end + 1)) {
    let backslashes = 0;
    while (body[end - 1 - backslashes] === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return body.length;
}
