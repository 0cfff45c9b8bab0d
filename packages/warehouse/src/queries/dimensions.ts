import { SOURCE_OF_EVENT, withChannels } from '../channel.ts';
import { EVENT_ORDER } from '../conditions.ts';
import type { Attribute } from '../visit-rows.ts';

/**
 * SQL of a dimension: a value that each event carries, or one that a visit has as a whole (an aggregate over its
 * events). `ofRow`: the same from a row of site_visits, where that can tell: for visits whose events agree in the
 * `attributes`. `allOfRow`: an array of all that the visit's events carry, whether they agree or not.
 * `finish`: rows with that as `x` → rows with the value.
 */
export type Dimension = {
  of: 'event' | 'visit';
  value: string;
  ofRow?: string;
  allOfRow?: string;
  attributes?: readonly Attribute[];
  finish?: (rows: string) => string;
};

const ofEvent = (value: string): Dimension => ({ of: 'event', value });
const attribute = (name: Attribute, value: string = name): Dimension => ({
  of: 'event',
  value,
  ofRow: value,
  attributes: [name],
});
const place = (name: 'region' | 'city'): Dimension => ({ ...attribute(name), attributes: [name, 'country'] });

/** Trap: under FINAL `entry.path` is that of any row; tupleElement(entry, 'path') that of the merged one. */
const field = (tuple: string, name: string): string => `tupleElement(${tuple}, '${name}')`;

const foreignReferrer: Dimension = {
  of: 'event',
  value: "if(referrer_domain IN (hostname, replaceRegexpOne(hostname, '^www\\\\.', '')), '', referrer_domain)",
  allOfRow: 'tupleElement(referrers, 1)',
};

const byType = {
  path: ofEvent('url_path'),
  entry: {
    of: 'visit',
    value: `argMinIf(url_path, ${EVENT_ORDER}, event_type = 1)`,
    ofRow: field('entry', 'path'),
  },
  exit: { of: 'visit', value: `argMaxIf(url_path, ${EVENT_ORDER}, event_type = 1)`, ofRow: field('exit', 'path') },
  title: ofEvent('page_title'),
  query: ofEvent('url_query'),
  hostname: ofEvent('hostname'),
  referrer: foreignReferrer,
  domain: foreignReferrer,
  channel: {
    of: 'visit',
    value: `argMin(${SOURCE_OF_EVENT}, ${EVENT_ORDER})`,
    ofRow: `tuple(${['referrer_domain', 'hostname', 'utm_source', 'utm_medium', 'has_click_id'].map((name) => field('source', name)).join(', ')})`,
    finish: withChannels,
  },
  event: ofEvent('event_name'),
  tag: ofEvent('tag'),
  browser: attribute('browser'),
  os: attribute('os'),
  device: attribute('device'),
  screen: { ...attribute('screen'), allOfRow: 'tupleElement(screens, 1)' },
  language: attribute('language', 'lowerUTF8(substringUTF8(language, 1, 2))'),
  country: attribute('country'),
  region: place('region'),
  city: place('city'),
  distinctId: ofEvent('distinct_id'),
  utmSource: ofEvent('utm_source'),
  utmMedium: ofEvent('utm_medium'),
  utmCampaign: ofEvent('utm_campaign'),
  utmContent: ofEvent('utm_content'),
  utmTerm: ofEvent('utm_term'),
} satisfies Record<string, Dimension>;

/** What events can be broken down by; docs/semantics.md "Breakdowns". */
export type MetricType = keyof typeof byType;

export const dimensions: Record<MetricType, Dimension> = byType;
