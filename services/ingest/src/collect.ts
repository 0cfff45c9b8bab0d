import type { BatchAnswer } from '@meridian/contract/collect';
import type { ErrorCode, FieldErrors } from '@meridian/contract/errors';
import type { Placement } from '@meridian/queue/placement';
import type { CacheToken } from './cache-token.ts';
import type { ClientProfile } from './client/client-profile.ts';
import type { Place } from './client/geo.ts';
import { givenAddress } from './client/given-address.ts';
import { type EventFault, isFault, type ParsedEvent, parseEvent } from './event/parse-event.ts';
import type { SessionIds } from './session-ids.ts';
import { toPendingEvent } from './to-pending-event.ts';
import type { KnownWebsite, WebsiteDirectory } from './website-directory.ts';

/** Who sends: what the events of one request have in common. */
export type Sender = {
  /** Trimmed; '' = none. */
  userAgent: string;
  address: string;
  /** Told by a content network in front of us. */
  place: Readonly<Place> | null;
  token: CacheToken | null;
  /** Whether another region has handed the request on: it goes no further. */
  isPeer: boolean;
  /** When the request came, to the first region, by the collector's clock; Unix ms. */
  nowMs: number;
};

export const ignoreReasons = ['no-user-agent', 'crawler', 'blocked-address'] as const;
export type IgnoreReason = (typeof ignoreReasons)[number];

/** `properties`: the faulty field, where it is one. */
export type Rejection = { kind: 'rejected'; code: ErrorCode; message: string; properties?: FieldErrors };

/** Its website is stored in another region, which has not been asked yet. */
export type Foreign = { kind: 'foreign'; region: string; placement: Placement };

/**
 * Its region has it already: another one, or this one since the request came first; or will get it (`isKept`). `cache`:
 * the token of the last event that was taken with this one.
 */
export type Taken = { kind: 'taken'; cache: string | null; isKept: boolean };

/**
 * What another region has answered about an element that it does not take, or this one when the request came first:
 * passed on as it is, since that may be of another version, and counted there.
 */
export type AnsweredBefore =
  | { kind: 'rejected before'; detail: BatchAnswer['details'][number] }
  | { kind: 'ignored before'; reason: string };

/** Nothing but the place of an element that another region deals with, in what that region hands on. */
export type Elsewhere = { kind: 'elsewhere' };

/** What one collector can tell by itself. */
export type OwnOutcome =
  | { kind: 'accepted'; placement: Placement }
  | Rejection
  | Foreign
  | { kind: 'ignored'; reason: IgnoreReason };

export type CollectOutcome = OwnOutcome | Taken | AnsweredBefore | Elsewhere;

/** `hasEscapes`: of the JSON of which the element is a part, see `parseEvent`. */
export type Collect = (element: unknown, sender: Sender, hasEscapes: boolean) => OwnOutcome | Promise<OwnOutcome>;

export type CollectDeps = {
  /** The region that this collector serves. */
  region: string;
  /** Whether it is another region of the installation, to which events can be handed on. */
  isPeer: (region: string) => boolean;
  websites: WebsiteDirectory;
  sessions: SessionIds;
  profileOf: (userAgent: string) => Readonly<ClientProfile>;
  placeOf: (address: string) => Readonly<Place>;
  isBlocked: (address: string) => boolean;
  /** Whether a sender may say what the visitor's address, User-Agent, browser, system and device are. */
  allowOverrides: boolean;
};

/**
 * Decides about one element of a body: accepted and enriched, rejected (the sender is told why), or ignored on purpose.
 * A promise only where the website is not known yet.
 */
export function createCollect(deps: CollectDeps): Collect {
  const { websites, profileOf, isBlocked } = deps;

  return (element, sender, hasEscapes) => {
    // Of the whole request: what its elements are is not looked at.
    if (sender.userAgent === '') return ignored['no-user-agent'];
    const event = parseEvent(element, sender.nowMs, hasEscapes);
    if (isFault(event)) return faultyField(event);
    if (!deps.allowOverrides) removeOverrides(event);
    const client = toClient(event, sender);
    const profile = profileOf(client.userAgent);
    if (profile.isCrawler) return ignored.crawler;
    if (isBlocked(client.address)) return ignored['blocked-address'];

    const website = websites.find(event.websiteId);
    return website instanceof Promise
      ? website.then(
          (found) => decide(deps, found, event, sender, client, profile),
          () => notLookedUp, // the directory reports it
        )
      : decide(deps, website, event, sender, client, profile);
  };
}

const ignored = {
  'no-user-agent': { kind: 'ignored', reason: 'no-user-agent' },
  crawler: { kind: 'ignored', reason: 'crawler' },
  'blocked-address': { kind: 'ignored', reason: 'blocked-address' },
} as const satisfies Record<IgnoreReason, OwnOutcome>;

const unknownWebsite = faultyField({ field: 'payload.website', fault: 'is not a known website' });
/** The website's region cannot be asked, or the regions disagree about which it is. */
export const unavailable: Rejection = {
  kind: 'rejected',
  code: 'service-unavailable',
  message: 'The event cannot be taken at the moment.',
};
/** The registry cannot be asked. Told from `unavailable` by identity (routes/batch.ts). */
export const notLookedUp: Rejection = { ...unavailable };

function faultyField({ field, fault }: EventFault): Rejection {
  const properties = { [field]: { errors: [fault] } };
  return { kind: 'rejected', code: 'bad-request', message: `${field}: ${fault}`, properties };
}

function removeOverrides(event: ParsedEvent): void {
  event.ip = event.userAgent = event.browser = event.os = event.device = '';
}

/** The visitor's own address and User-Agent, which may not be the sender's. */
type Client = { userAgent: string; address: string; place: Readonly<Place> | null };

function toClient(event: ParsedEvent, sender: Sender): Client {
  const userAgent = event.userAgent === '' ? sender.userAgent : event.userAgent.trim() || sender.userAgent;
  const address = event.ip === '' ? null : givenAddress(event.ip);
  return address === null
    ? { userAgent, address: sender.address, place: sender.place }
    : { userAgent, address, place: null };
}

function decide(
  deps: CollectDeps,
  website: KnownWebsite | null,
  event: ParsedEvent,
  sender: Sender,
  client: Client,
  profile: Readonly<ClientProfile>,
): OwnOutcome {
  if (!website) return unknownWebsite;
  const { region } = website;
  if (region !== deps.region && (sender.isPeer || !deps.isPeer(region))) return unavailable;
  const placement = toPlacement(deps, event, sender, client, profile);
  return region === deps.region ? { kind: 'accepted', placement } : { kind: 'foreign', region, placement };
}

function toPlacement(
  { sessions, placeOf }: CollectDeps,
  event: ParsedEvent,
  sender: Sender,
  client: Client,
  profile: Readonly<ClientProfile>,
): Placement {
  const { websiteId, id } = event;
  const createdAtMs = event.timestampMs ?? sender.nowMs;
  // A token of another website counts as absent.
  const token = sender.token?.websiteId === websiteId ? sender.token : null;
  const sessionId =
    id !== ''
      ? sessions.ofId(websiteId, id)
      : (token?.sessionId ?? sessions.ofClient(websiteId, client.address, client.userAgent, createdAtMs));
  const distinctId = id || (token?.distinctId ?? '');
  const place = client.place ?? placeOf(client.address);

  const placement: Placement = {
    event: toPendingEvent(event, { sessionId, createdAtMs, distinctId, profile, place }),
  };
  if (token) {
    const { visitId, lastAtMs } = token;
    if (token.sessionId === sessionId) placement.hint = { visitId, lastAtMs };
    // A session without id lends its visit to the id; one that has another id lends nothing.
    else if (token.distinctId === '') placement.link = { sessionId: token.sessionId, visitId, lastAtMs };
  }
  return placement;
}
