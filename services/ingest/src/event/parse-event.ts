import { deviceTypes, eventDepthMax, eventTypes, textLimits, vitalMax } from '@meridian/contract/collect';
import { isUuid } from '@meridian/contract/ids';
import { isDeeperThan } from '@meridian/contract/nesting';
import { toText } from '@meridian/contract/text';
import { flattenData } from './event-data.ts';
import { makeStorable } from './storable.ts';
import { parseTimestamp } from './timestamp.ts';

/** One element of a body, checked and made storable; '' = not given. Nothing of it needs a second look. */
export type ParsedEvent = {
  type: 'pageview' | 'custom' | 'identify' | 'performance';
  /** In lower case. */
  websiteId: string;
  url: string;
  referrer: string;
  hostname: string;
  title: string;
  screen: string;
  language: string;
  /** Only of a custom event. */
  name: string;
  tag: string;
  id: string;
  /** Flat properties as JSON text. */
  data: string;
  /** Unix ms; null = now. */
  timestampMs: number | null;
  /** What the sender says of the visitor; taken over only where overrides are allowed. */
  ip: string;
  userAgent: string;
  browser: string;
  os: string;
  device: string;
  vitals: Vitals | null;
};

export type Vitals = Record<'lcp' | 'inp' | 'fcp' | 'ttfb' | 'cls', number | null>;

/** Why an element is refused: the field and what is wrong with it. */
export type EventFault = { readonly field: string; readonly fault: string };

const faults = {
  event: { field: 'event', fault: 'must be a JSON object' },
  depth: { field: 'event', fault: `must not be nested deeper than ${eventDepthMax} levels` },
  type: { field: 'type', fault: `must be one of ${eventTypes.join(', ')}` },
  payload: { field: 'payload', fault: 'must be an object' },
  website: { field: 'payload.website', fault: 'must be the UUID of a website' },
  data: { field: 'payload.data', fault: 'must be an object' },
  timestamp: {
    field: 'payload.timestamp',
    fault: 'must be whole seconds, or milliseconds above 1e11, from the year 2000 to 10 minutes ahead',
  },
} as const satisfies Record<string, EventFault>;

const devices: readonly string[] = deviceTypes;

/**
 * Checks one element of a send or batch body (docs/semantics.md "Values" to "Client") as the schema `SendBody` does, by
 * hand because every event of the collector passes here.
 * @param nowMs the collector's clock, Unix ms
 * @param hasEscapes of the body's JSON: texts of it may have to be made storable, which changes the element
 */
export function parseEvent(element: unknown, nowMs: number, hasEscapes: boolean): ParsedEvent | EventFault {
  if (!isObject(element)) return faults.event;
  if (isDeeperThan(element, eventDepthMax)) return faults.depth;
  const { type, payload } = element;
  if (type !== 'event' && type !== 'pageview' && type !== 'identify' && type !== 'performance') return faults.type;
  if (!isObject(payload)) return faults.payload;
  const { data } = payload;
  const websiteId = toWebsiteId(payload.website);
  if (websiteId === null) return faults.website;
  const hasData = data !== undefined && data !== null;
  if (hasData && !isObject(data)) return faults.data;
  const timestampMs = parseTimestamp(payload.timestamp, nowMs);
  if (Number.isNaN(timestampMs)) return faults.timestamp;

  if (hasEscapes) makeStorable(payload);
  const isEvent = type === 'event' || type === 'pageview';
  const name = isEvent ? toText(payload.name, textLimits.name) : '';
  const device = toText(payload.device, textLimits.client);
  return {
    type: isEvent ? (name === '' ? 'pageview' : 'custom') : type,
    websiteId,
    url: toText(payload.url, textLimits.url),
    referrer: toText(payload.referrer, textLimits.url),
    hostname: toText(payload.hostname, textLimits.hostname),
    title: toText(payload.title, textLimits.title),
    screen: toText(payload.screen, textLimits.screen),
    language: toText(payload.language, textLimits.language),
    name,
    tag: toText(payload.tag, textLimits.tag),
    id: toText(payload.id, textLimits.id),
    data: hasData ? flattenData(data) : '',
    timestampMs,
    ip: toText(payload.ip, textLimits.ip),
    userAgent: toText(payload.userAgent, textLimits.userAgent),
    browser: toText(payload.browser, textLimits.client),
    os: toText(payload.os, textLimits.client),
    device: devices.includes(device) ? device : '',
    vitals: type === 'performance' ? toVitals(payload) : null,
  };
}

export function isFault(parsed: ParsedEvent | EventFault): parsed is EventFault {
  return 'fault' in parsed;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

let lastGiven = '';
let lastWebsiteId: string | null = null;

/** Looked at once for all elements of a batch, which are of one website as a rule. */
function toWebsiteId(given: unknown): string | null {
  if (given === lastGiven) return lastWebsiteId;
  if (!isUuid(given)) return null;
  lastGiven = given;
  lastWebsiteId = given.toLowerCase();
  return lastWebsiteId;
}

/** A measurement out of range or of another kind is dropped, the event is kept. */
function toVitals({ lcp, inp, fcp, ttfb, cls }: Record<string, unknown>): Vitals {
  return {
    lcp: toVital(lcp, vitalMax.lcp),
    inp: toVital(inp, vitalMax.inp),
    fcp: toVital(fcp, vitalMax.fcp),
    ttfb: toVital(ttfb, vitalMax.ttfb),
    cls: toVital(cls, vitalMax.cls),
  };
}

function toVital(value: unknown, max: number): number | null {
  return typeof value === 'number' && value >= 0 && value <= max ? value : null;
}
