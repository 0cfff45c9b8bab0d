/**
 * One stored event: 1 pageview, 2 custom event, 5 performance measurement (identify never becomes a row).
 * All strings are well-formed Unicode; '' means none.
 */
export type EventRow = {
  /** UUIDv7; its time is the time of collection. */
  eventId: string;
  websiteId: string;
  sessionId: string;
  /** UUIDv7; its time is the start of the visit as first seen. */
  visitId: string;
  /** Event time. */
  createdAtMs: number;
  eventType: 1 | 2 | 5;
  hostname: string;
  urlPath: string;
  urlQuery: string;
  pageTitle: string;
  referrerDomain: string;
  referrerPath: string;
  referrerQuery: string;
  eventName: string;
  tag: string;
  distinctId: string;
  browser: string;
  os: string;
  device: string;
  screen: string;
  language: string;
  country: string;
  region: string;
  city: string;
  utmSource: string;
  utmMedium: string;
  utmCampaign: string;
  utmContent: string;
  utmTerm: string;
  gclid: string;
  fbclid: string;
  msclkid: string;
  ttclid: string;
  liFatId: string;
  twclid: string;
  /** The event's flattened properties as the text of a JSON object. */
  data: string;
  /** Milliseconds. */
  lcp: number | null;
  inp: number | null;
  fcp: number | null;
  ttfb: number | null;
  /** Without unit. */
  cls: number | null;
};

/** A property that identify gave a session. */
export type SessionPropertyRow = {
  websiteId: string;
  sessionId: string;
  /** The identify call's event id. */
  eventId: string;
  createdAtMs: number;
  key: string;
  value: string | number | boolean;
};

/** The events table's columns in the order in which they are sent, and the field that fills each. */
export const eventColumns = {
  website_id: 'websiteId',
  created_at: 'createdAtMs',
  event_id: 'eventId',
  session_id: 'sessionId',
  visit_id: 'visitId',
  event_type: 'eventType',
  hostname: 'hostname',
  url_path: 'urlPath',
  url_query: 'urlQuery',
  page_title: 'pageTitle',
  referrer_domain: 'referrerDomain',
  referrer_path: 'referrerPath',
  referrer_query: 'referrerQuery',
  event_name: 'eventName',
  tag: 'tag',
  distinct_id: 'distinctId',
  browser: 'browser',
  os: 'os',
  device: 'device',
  screen: 'screen',
  language: 'language',
  country: 'country',
  region: 'region',
  city: 'city',
  utm_source: 'utmSource',
  utm_medium: 'utmMedium',
  utm_campaign: 'utmCampaign',
  utm_content: 'utmContent',
  utm_term: 'utmTerm',
  gclid: 'gclid',
  fbclid: 'fbclid',
  msclkid: 'msclkid',
  ttclid: 'ttclid',
  li_fat_id: 'liFatId',
  twclid: 'twclid',
  data: 'data',
  lcp: 'lcp',
  inp: 'inp',
  fcp: 'fcp',
  ttfb: 'ttfb',
  cls: 'cls',
} as const satisfies Record<string, keyof EventRow>;
