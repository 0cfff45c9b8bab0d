import { textLimits } from '@meridian/contract/collect';
import { cutText } from '@meridian/contract/text';
import type { PendingEvent } from '@meridian/queue/collected-event';
import { browserName, systemName } from './client/client-names.ts';
import type { ClientProfile } from './client/client-profile.ts';
import type { Place } from './client/geo.ts';
import type { ParsedEvent } from './event/parse-event.ts';
import { toPage, toReferrer } from './event/url.ts';

/** What the collector adds to what the sender says. */
export type Enrichment = Pick<PendingEvent, 'sessionId' | 'createdAtMs' | 'distinctId'> & {
  profile: Readonly<ClientProfile>;
  place: Readonly<Place>;
};

/**
 * The message as it travels to the worker. What the sender says of browser, system and device wins over what is
 * detected, under the name that detection would give.
 */
export function toPendingEvent(event: ParsedEvent, enrichment: Enrichment): PendingEvent {
  const { profile, place } = enrichment;
  const page = toPage(event.url);
  const { campaign } = page;
  const hostname = event.hostname || cutText(page.host, textLimits.hostname);
  const referrer = toReferrer(event.referrer, hostname);
  return {
    websiteId: event.websiteId,
    sessionId: enrichment.sessionId,
    createdAtMs: enrichment.createdAtMs,
    type: event.type,
    hostname,
    urlPath: page.path,
    urlQuery: page.query,
    referrerDomain: referrer.domain,
    referrerPath: referrer.path,
    referrerQuery: referrer.query,
    pageTitle: event.title,
    eventName: event.name,
    tag: event.tag,
    distinctId: enrichment.distinctId,
    browser: browserName(event.browser, '') || profile.browser,
    os: systemName(event.os) || profile.os,
    device: event.device || profile.device,
    screen: event.screen,
    language: event.language,
    country: place.country,
    region: place.region,
    city: place.city,
    utmSource: campaign.utmSource,
    utmMedium: campaign.utmMedium,
    utmCampaign: campaign.utmCampaign,
    utmContent: campaign.utmContent,
    utmTerm: campaign.utmTerm,
    gclid: campaign.gclid,
    fbclid: campaign.fbclid,
    msclkid: campaign.msclkid,
    ttclid: campaign.ttclid,
    liFatId: campaign.liFatId,
    twclid: campaign.twclid,
    data: event.data,
    lcp: event.vitals?.lcp ?? null,
    inp: event.vitals?.inp ?? null,
    fcp: event.vitals?.fcp ?? null,
    ttfb: event.vitals?.ttfb ?? null,
    cls: event.vitals?.cls ?? null,
  };
}
