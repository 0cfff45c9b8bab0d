/**
 * The channel of an event, written from docs/semantics.md "Breakdowns" and not from the SQL: labels of domains are
 * compared, no expression. It knows the sources that random data use and some more, not all of them.
 */
import type { EventRow } from '../event-row.ts';

type Kind = 'email' | 'llm' | 'video' | 'shopping' | 'social' | 'search';

/** A name stands before the ending of a domain; a domain is itself and everything below it. */
const sources: Record<Kind, { names: string[]; domains: string[] }> = {
  email: { names: ['newsletter', 'outlook', 'mail', 'email'], domains: ['mail.google.com', 'outlook.live.com'] },
  llm: { names: ['chatgpt', 'perplexity'], domains: ['claude.ai', 'gemini.google.com'] },
  video: { names: ['youtube', 'vimeo', 'netflix'], domains: ['youtu.be'] },
  shopping: { names: ['amazon', 'ebay'], domains: ['shopping.google.com'] },
  social: { names: ['facebook', 'twitter', 'reddit'], domains: ['x.com', 't.co', 'news.ycombinator.com'] },
  search: { names: ['google', 'bing', 'aol'], domains: ['search.brave.com', 'ya.ru'] },
};

/** Of one or two parts: `de`, `co.uk`, `com.br`. */
const isEnding = (parts: string[]) =>
  /^[a-z]{2,4}$/.test(parts.at(-1) ?? '') && (parts.length === 1 || parts[0] === 'co' || parts[0] === 'com');

function isSourceDomain(kind: Kind, text: string): boolean {
  const { names, domains } = sources[kind];
  const labels = text.toLowerCase().split('.');
  return (
    [1, 2].some((ending) => isEnding(labels.slice(-ending)) && names.includes(labels.at(-ending - 1) ?? '')) ||
    labels.some((_, i) => domains.includes(labels.slice(i).join('.')))
  );
}

const isSourceName = (kind: Kind, text: string) => sources[kind].names.includes(text.toLowerCase());

/** The kind of click id that Meta adds to every link says nothing about payment. */
function isPaid(row: EventRow): boolean {
  const medium = row.utmMedium.toLowerCase();
  return (
    ['cpa', 'cpc', 'cpm', 'cpv', '-paid', '_paid', ' paid'].some((ending) => medium.endsWith(ending)) ||
    ['ppc', 'retargeting', 'display', 'banner', 'ad', 'ads'].includes(medium) ||
    medium.startsWith('paid') ||
    [row.gclid, row.msclkid, row.ttclid, row.liFatId, row.twclid].some((id) => id !== '')
  );
}

export function referenceChannel(row: EventRow): string {
  const [source, medium] = [row.utmSource.toLowerCase(), row.utmMedium.toLowerCase()];
  const from = (kind: Kind) =>
    isSourceDomain(kind, row.referrerDomain) || isSourceDomain(kind, source) || isSourceName(kind, source);
  const paidOr = (paid: string, organic: string) => (isPaid(row) ? paid : organic);

  if (medium.includes('mail') || from('email')) return 'email';
  if (medium === 'sms' || medium === 'mms' || source === 'sms') return 'sms';
  if (medium.includes('affiliate')) return 'affiliate';
  if (from('llm')) return 'llm';
  if (from('video') || medium.includes('video')) return paidOr('paidVideo', 'organicVideo');
  if (from('shopping') || medium.includes('shop')) return paidOr('paidShopping', 'organicShopping');
  if (from('social') || medium.includes('social')) return paidOr('paidSocial', 'organicSocial');
  if (from('search') || medium === 'organic') return paidOr('paidSearch', 'organicSearch');
  if (isPaid(row)) return 'paidAds';
  const isReferred = row.referrerDomain !== '' && row.referrerDomain !== row.hostname;
  return isReferred || source !== '' || medium !== '' ? 'referral' : 'direct';
}
