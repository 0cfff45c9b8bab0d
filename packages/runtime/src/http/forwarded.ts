/**
 * The client of each element of a Forwarded header (RFC 7239), in order: the value of `for`, without its quotes. `unknown` for an
 * element that names none; empty elements are left out.
 * @example `for="[2001:db8::1]:4711";proto=https, for=10.0.0.5` gives `[2001:db8::1]:4711` and `10.0.0.5`
 */
export function forwardedClients(header: string): string[] {
  return splitUnquoted(header, ',')
    .filter((element) => element.trim() !== '')
    .map((element) => clientOf(element) || 'unknown');
}

function clientOf(element: string): string {
  for (const pair of splitUnquoted(element, ';')) {
    const equals = pair.indexOf('=');
    if (pair.slice(0, equals).trim().toLowerCase() === 'for') return unquoted(pair.slice(equals + 1).trim());
  }
  return '';
}

function unquoted(value: string): string {
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return isQuoted ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
}

/**
 * Splits where the separator is not inside a quoted string: what a proxy quotes, such as the host, may come from the client and look
 * like elements of its own. One pass, whatever the text is.
 */
function splitUnquoted(text: string, separator: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') isQuoted = !isQuoted;
    else if (char === '\\' && isQuoted) at++;
    else if (char === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}
