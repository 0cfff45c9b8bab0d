const percent = 0x25;

/** What decodeURI leaves encoded, because a decoded one would mean something else in a URL. */
const reserved = new Set([...';/?:@&=+$,#'].map((character) => character.charCodeAt(0)));
const none: ReadonlySet<number> = new Set();

/**
 * Path as it is stored: decoded sequence by sequence where that gives valid UTF-8; reserved characters and broken
 * sequences stay.
 */
export function decodePath(path: string): string {
  return decode(path, reserved);
}

/** Value of a query parameter: as `decodeText`, and '+' is a blank. */
export function decodeQueryValue(value: string): string {
  return decodeText(value.replaceAll('+', ' '));
}

/** Text that was encoded as a whole: everything that is valid UTF-8 is decoded, the rest stays as sent. */
export function decodeText(text: string): string {
  return decode(text, none);
}

// By hand and not with decodeURI: that throws for the whole text, and an exception per broken sequence of a hostile
// text of 16,000 characters would cost milliseconds.
function decode(text: string, kept: ReadonlySet<number>): string {
  let at = text.indexOf('%');
  if (at === -1) return text;
  let decoded = '';
  let copied = 0;
  while (at !== -1) {
    const codePoint = encodedCodePoint(text, at);
    const length = codePoint === -1 ? 1 : encodedLength(codePoint);
    if (codePoint !== -1 && !kept.has(codePoint)) {
      decoded += text.slice(copied, at) + String.fromCodePoint(codePoint);
      copied = at + length;
    }
    at = text.indexOf('%', at + length);
  }
  return decoded + text.slice(copied);
}

/** Characters that a code point takes when percent-encoded. */
function encodedLength(codePoint: number): number {
  if (codePoint < 0x80) return 3;
  if (codePoint < 0x800) return 6;
  return codePoint < 0x10000 ? 9 : 12;
}

/** The code point whose whole percent-encoded UTF-8 sequence starts at `at`, or -1. */
function encodedCodePoint(text: string, at: number): number {
  const lead = encodedByte(text, at);
  if (lead < 0x80) return lead;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const continuations = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  let codePoint = lead & (0x3f >> continuations);
  for (let i = 1; i <= continuations; i++) {
    const byte = encodedByte(text, at + 3 * i);
    if ((byte & 0xc0) !== 0x80) return -1;
    codePoint = (codePoint << 6) | (byte & 0x3f);
  }
  const isOverlong = continuations > 1 && codePoint < (continuations === 2 ? 0x800 : 0x10000);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  return isOverlong || isSurrogate || codePoint > 0x10ffff ? -1 : codePoint;
}

/** Value of `%XX` at `at`, or -1. */
function encodedByte(text: string, at: number): number {
  if (text.charCodeAt(at) !== percent) return -1;
  const high = hexDigit(text.charCodeAt(at + 1));
  const low = hexDigit(text.charCodeAt(at + 2));
  return high === -1 || low === -1 ? -1 : high * 16 + low;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
