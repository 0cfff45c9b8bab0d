import { z } from 'zod';
import { uuidPattern } from './ids.ts';
import { isDeeperThan } from './nesting.ts';

/** Longest stored text per field, in UTF-16 units. Longer ones are cut, never refused. */
export const textLimits = {
  url: 16_384,
  path: 2_000,
  query: 2_000,
  campaign: 255,
  title: 500,
  hostname: 255,
  name: 100,
  tag: 100,
  id: 200,
  language: 35,
  screen: 20,
  userAgent: 512,
  client: 100,
  ip: 45,
  dataKey: 500,
  dataValue: 2_000,
} as const;

/** Greatest value of a measurement; one above is left out. All but `cls` in ms. */
export const vitalMax = { lcp: 60_000, inp: 60_000, fcp: 60_000, ttfb: 60_000, cls: 100 } as const;

export const dataPropertiesMax = 100;
export const batchEventsMax = 1_000;
export const sendBodyMaxBytes = 65_536;
export const batchBodyMaxBytes = 5_242_880;

/** An event counts as the first level, its payload as the second. */
export const eventDepthMax = 32;

export const eventTypes = ['event', 'pageview', 'identify', 'performance'] as const;
export const deviceTypes = ['desktop', 'mobile', 'tablet'] as const;

/**
 * Event times: from 2000 on; numbers above 1e11 are milliseconds. How far ahead is acceptable is the collector's
 * clock's matter.
 */
export const timestampMinMs = Date.UTC(2000, 0, 1);
export const timestampAheadMaxMs = 600_000;
export const timestampMillisecondsAbove = 1e11;

/**
 * A text field that no value makes unacceptable: numbers and booleans become text, null is absent, an array or object
 * is dropped. So the schema only documents it.
 */
const text = (description: string, maxLength: number) =>
  z
    .unknown()
    .optional()
    .meta({ type: ['string', 'number', 'boolean', 'null'], description, maxLength });

const vital = (description: string, maximum: number) =>
  z
    .unknown()
    .optional()
    .meta({ type: ['number', 'null'], description, minimum: 0, maximum });

const timestamp = z
  .union([z.int(), z.string().regex(/^\d+$/).transform(Number)])
  .transform((time) => (time > timestampMillisecondsAbove ? time : time * 1_000))
  .pipe(
    z
      .number()
      .int()
      .min(timestampMinMs)
      .max(Date.UTC(9999, 11, 31)),
  )
  .nullish()
  .meta({
    description:
      'Time of the event in whole seconds, above 1e11 in milliseconds; 2000-01-01 to 10 minutes ahead. Default: now.',
  });

const Payload = z.object({
  website: z.string().regex(uuidPattern).meta({ description: 'Id of the website.', format: 'uuid' }),
  url: text('Page URL or path.', textLimits.url),
  referrer: text('Referring URL.', textLimits.url),
  hostname: text("Site's host name; default: the host of url.", textLimits.hostname),
  title: text('Page title.', textLimits.title),
  screen: text('Screen size, 1920x1080.', textLimits.screen),
  language: text('Language tag of the browser.', textLimits.language),
  name: text('Name of a custom event; without it the event is a pageview.', textLimits.name),
  tag: text('Free tag.', textLimits.tag),
  id: text('Visitor id of the application; joins events into one session.', textLimits.id),
  data: z.record(z.string(), z.unknown()).nullish().meta({ description: 'Custom properties.' }),
  timestamp,
  ip: text('Address of the visitor, for senders on a server.', textLimits.ip),
  userAgent: text('User-Agent of the visitor, for senders on a server.', textLimits.userAgent),
  browser: text('Browser, instead of the detected one.', textLimits.client),
  os: text('Operating system, instead of the detected one.', textLimits.client),
  device: text('desktop, mobile or tablet, instead of the detected one.', textLimits.client),
  lcp: vital('Largest contentful paint, ms.', vitalMax.lcp),
  inp: vital('Interaction to next paint, ms.', vitalMax.inp),
  fcp: vital('First contentful paint, ms.', vitalMax.fcp),
  ttfb: vital('Time to first byte, ms.', vitalMax.ttfb),
  cls: vital('Cumulative layout shift.', vitalMax.cls),
});

/** One event as its sender writes it. */
export const Event = z.object({
  type: z.enum(eventTypes).describe('`pageview` is an alias of `event`.'),
  payload: Payload,
});

/**
 * Body of POST /send, and each element of POST /batch. The schema of record: what it refuses is refused, nothing else.
 */
export const SendBody = z
  .unknown()
  .refine((body) => !isDeeperThan(body, eventDepthMax), `must not be nested deeper than ${eventDepthMax} levels`)
  .pipe(Event);

export const SendAnswer = z.object({ cache: z.string(), sessionId: z.uuid(), visitId: z.uuid() });
export type SendAnswer = z.infer<typeof SendAnswer>;

/** Answer to an event that is not stored on purpose. */
export const IgnoredAnswer = z.object({ beep: z.literal('boop'), ignored: z.string() });
export type IgnoredAnswer = z.infer<typeof IgnoredAnswer>;

export const BatchAnswer = z.object({
  size: z.int(),
  processed: z.int(),
  errors: z.int(),
  details: z.array(
    z.object({
      index: z.int(),
      error: z.string(),
      response: z.object({ error: z.object({ message: z.string(), code: z.string(), status: z.int() }) }),
    }),
  ),
  ignored: z.int(),
  ignoredDetails: z.array(z.object({ index: z.int(), reason: z.string() })),
  cache: z.string().nullable().describe('Token of the last stored event; null when none was stored.'),
});
export type BatchAnswer = z.infer<typeof BatchAnswer>;
