import { textLimits } from '@meridian/contract/collect';
import { hostOf, splitUrl, storedPath, toDomain } from '@meridian/contract/split-url';
import { cutText } from '@meridian/contract/text';
import { type Campaign, readCampaign } from './campaign.ts';

/** The visited page. `host` is the URL's host without port, '' for a path. */
export type Page = { host: string; path: string; query: string; campaign: Readonly<Campaign> };

/** Where the visitor came from. `domain` is '' for the site itself and for what is no usable address. */
export type Referrer = { domain: string; path: string; query: string };

/** Splits `payload.url` as it is stored (docs/semantics.md "URLs"). A missing url gives an empty path. */
export function toPage(url: string): Page {
  const { host, path, query } = splitUrl(url);
  return { host, path: storedPath(path), query: cutText(query, textLimits.query), campaign: readCampaign(query) };
}

const noReferrer: Readonly<Referrer> = Object.freeze({ domain: '', path: '', query: '' });

/** Splits `payload.referrer` as it is stored; `hostname` is the site's own, with or without port. */
export function toReferrer(referrer: string, hostname: string): Readonly<Referrer> {
  if (referrer === '') return noReferrer;
  const { host, path, query } = splitUrl(referrer);
  const domain = toDomain(host);
  return {
    domain: domain !== '' && domain === toDomain(hostOf(hostname)) ? '' : domain,
    path: storedPath(path),
    query: cutText(query, textLimits.query),
  };
}
