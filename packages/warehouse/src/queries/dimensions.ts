import { CHANNEL_OF_EVENT } from '../channel.ts';
import { EVENT_ORDER } from '../conditions.ts';

/** What events can be broken down by; docs/semantics.md "Breakdowns". */
export type MetricType =
  | 'path'
  | 'entry'
  | 'exit'
  | 'title'
  | 'query'
  | 'hostname'
  | 'referrer'
  | 'domain'
  | 'channel'
  | 'event'
  | 'tag'
  | 'browser'
  | 'os'
  | 'device'
  | 'screen'
  | 'language'
  | 'country'
  | 'region'
  | 'city'
  | 'distinctId'
  | 'utmSource'
  | 'utmMedium'
  | 'utmCampaign'
  | 'utmContent'
  | 'utmTerm';

/** SQL of a dimension: a value that each event carries, or one that a visit has as a whole (an aggregate over its events). */
export type Dimension = { of: 'event' | 'visit'; value: string };

const ofEvent = (value: string): Dimension => ({ of: 'event', value });
const ofVisit = (value: string): Dimension => ({ of: 'visit', value });

const foreignReferrer = ofEvent(
  "if(referrer_domain IN (hostname, replaceRegexpOne(hostname, '^www\\\\.', '')), '', referrer_domain)",
);

export const dimensions: Record<MetricType, Dimension> = {
  path: ofEvent('url_path'),
  entry: ofVisit(`argMinIf(url_path, ${EVENT_ORDER}, event_type = 1)`),
  exit: ofVisit(`argMaxIf(url_path, ${EVENT_ORDER}, event_type = 1)`),
  title: ofEvent('page_title'),
  query: ofEvent('url_query'),
  hostname: ofEvent('hostname'),
  referrer: foreignReferrer,
  domain: foreignReferrer,
  channel: ofVisit(`argMin(${CHANNEL_OF_EVENT}, ${EVENT_ORDER})`),
  event: ofEvent('event_name'),
  tag: ofEvent('tag'),
  browser: ofEvent('browser'),
  os: ofEvent('os'),
  device: ofEvent('device'),
  screen: ofEvent('screen'),
  language: ofEvent('lower(substringUTF8(language, 1, 2))'),
  country: ofEvent('country'),
  region: ofEvent('region'),
  city: ofEvent('city'),
  distinctId: ofEvent('distinct_id'),
  utmSource: ofEvent('utm_source'),
  utmMedium: ofEvent('utm_medium'),
  utmCampaign: ofEvent('utm_campaign'),
  utmContent: ofEvent('utm_content'),
  utmTerm: ofEvent('utm_term'),
};
