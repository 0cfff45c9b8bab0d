import { hostOf, splitUrl, storedPath, toDomain } from '@meridian/contract/split-url';

const behindDomain = /[/?#\\]/;
const urlWithPath = /^[^/]*:\/\/[^/?#\\]*[/\\]/;

/**
 * A referrer filter's value as events have it: `ref.example`, or of a URL with a path `ref.example/path`, without its
 * query. The path may have been copied from the log, where it is decoded already. Nothing for what can be no referrer.
 */
export function storedReferrers(value: string): string[] {
  // Collection drops NUL, but no event fits a value that has it.
  if (value.includes('\0')) return [];
  const { host, path } = splitUrl(value);
  if (host === '') return behindDomain.test(value) ? [] : withDomain(hostOf(value), ['']);
  return withDomain(host, urlWithPath.test(value) ? [...new Set([storedPath(path), path])] : ['']);
}

function withDomain(host: string, paths: string[]): string[] {
  const domain = toDomain(host);
  return domain === '' ? [] : paths.map((path) => domain + path);
}
