/** `name=value` with blanks around it; a quoted value ends where only a separator may follow. */
const pairPattern = /[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^\s",;]*)[ \t]*(?=[,;]|$)/y;
const blanks = /[ \t]*/y;

/**
 * The client of each element of a Forwarded header (RFC 7239), in order: the value of `for`, without its quotes.
 * `unknown` for an element that names none or makes no sense; empty elements are left out. A proxy appends to what the
 * client sent: so behind a quote in a wrong place nothing is believed, since the client may have opened it to hide what
 * the proxy says.
 * @example `for="[2001:db8::1]:4711";proto=https, for=10.0.0.5` gives `[2001:db8::1]:4711` and `10.0.0.5`
 */
export function forwardedClients(header: string): string[] {
  const clients: string[] = [];
  let at = 0;
  while (at <= header.length) {
    const element = readElement(header, at);
    if (element.client !== null) clients.push(element.client || 'unknown');
    at = element.end + 1;
  }
  return clients;
}

/**
 * `client`: '' when the element names none, null when it is empty. `end`: the comma behind it, or the end of the text.
 */
function readElement(header: string, start: number): { client: string | null; end: number } {
  let client: string | null = null;
  for (let at = start; ; ) {
    pairPattern.lastIndex = at;
    const [whole = '', name, value = ''] = pairPattern.exec(header) ?? [];
    if (name !== undefined) client = client || (name.toLowerCase() === 'for' ? unquoted(value) : '');
    at += whole.length || lengthOfBlanks(header, at);
    const next = header[at];
    if (next === undefined || next === ',') return { client, end: at };
    if (next !== ';') return { client: '', end: endOfNonsense(header, at) };
    at += 1;
  }
}

function endOfNonsense(header: string, at: number): number {
  const comma = header.indexOf(',', at);
  return comma === -1 || header.includes('"', at) ? header.length : comma;
}

function lengthOfBlanks(header: string, at: number): number {
  blanks.lastIndex = at;
  return blanks.exec(header)?.[0].length ?? 0;
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
}
