import { domainToASCII } from 'node:url';
import { textLimits } from './collect.ts';
import { decodePath } from './percent-decode.ts';
import { cutText, withoutNul } from './text.ts';

/** Parts of an address. Collection stores what they say, and filters look for it, so both split by this. */
export type SplitUrl = { host: string; path: string; query: string };

const schemeAndSlashes = /^[a-z][a-z0-9+.-]*:\/\//i;
const slash = '/'.charCodeAt(0);

/**
 * Host, path with fragment, and query without '?', as sent. What has neither a leading slash nor `scheme://` is
 * relative to '/', so `javascript:alert(1)` is only an odd path. By hand, because `new URL` refuses what must be kept
 * and costs more.
 */
export function splitUrl(url: string): SplitUrl {
  if (url === '') return { host: '', path: '', query: '' };
  let host = '';
  let pathStart = 0;
  if (url.charCodeAt(0) !== slash) {
    const schemeLength = schemeAndSlashes.exec(url)?.[0].length ?? 0;
    if (schemeLength > 0) {
      pathStart = authorityEnd(url, schemeLength);
      host = hostOf(url.slice(schemeLength, pathStart));
    }
  }
  const hash = url.indexOf('#', pathStart);
  const beforeHash = hash === -1 ? url.length : hash;
  const mark = url.indexOf('?', pathStart);
  const pathEnd = mark === -1 || mark > beforeHash ? beforeHash : mark;
  const path = url.slice(pathStart, pathEnd);
  const fragment = beforeHash + 1 < url.length ? url.slice(beforeHash) : '';
  return {
    host,
    path: (path.charCodeAt(0) === slash ? path : `/${path}`) + fragment,
    query: pathEnd < beforeHash ? url.slice(pathEnd + 1, beforeHash) : '',
  };
}

function authorityEnd(url: string, start: number): number {
  for (let i = start; i < url.length; i++) {
    const character = url[i];
    if (character === '/' || character === '?' || character === '#' || character === '\\') return i;
  }
  return url.length;
}

/** Host in lower case of `user:password@host:port`; an IPv6 address keeps its brackets. */
export function hostOf(authority: string): string {
  const start = authority.lastIndexOf('@') + 1;
  const portMark = authority.indexOf(':', authority[start] === '[' ? authority.indexOf(']', start) + 1 : start);
  return authority.slice(start, portMark === -1 ? authority.length : portMark).toLowerCase();
}

const hostCharacters = /^[a-z0-9._-]+$|^\[[0-9a-f:.]+\]$/;

/**
 * Name without `www.`, in ASCII form (so both spellings of an international name are one); '' when it can be no host,
 * as a longer one can not. Trap: the time of `domainToASCII` grows with the square of the length.
 */
export function toDomain(host: string): string {
  if (host === '' || host.length > textLimits.hostname) return '';
  const name = host.startsWith('www.') ? host.slice(4) : host;
  if (hostCharacters.test(name)) return name;
  const ascii = domainToASCII(name);
  return hostCharacters.test(ascii) ? ascii : '';
}

/** A path that `splitUrl` gave, as it is stored (docs/semantics.md "URLs"). */
export function storedPath(path: string): string {
  return cutText(withoutNul(decodePath(path)), textLimits.path);
}
