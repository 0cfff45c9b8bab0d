import { textLimits } from '@meridian/contract/collect';
import { Lru } from '@meridian/runtime/lru';
import { type BotFilter, crawlerTest } from './crawlers.ts';
import { type DetectedClient, detectClient } from './detect-client.ts';

/** What a User-Agent tells. */
export type ClientProfile = DetectedClient & { isCrawler: boolean };

const rememberedUserAgents = 10_000;

/** Detects browser, system and device, and remembers them per User-Agent. */
export function createClientProfiles(botFilter: BotFilter): (userAgent: string) => Readonly<ClientProfile> {
  const isCrawler = crawlerTest(botFilter);
  const profiles = new Lru<string, Readonly<ClientProfile>>(rememberedUserAgents);
  return (userAgent) => {
    const known = profiles.get(userAgent);
    if (known) return known;
    const profile = { ...detectClient(userAgent), isCrawler: isCrawler(userAgent) };
    profiles.set(userAgent, profile);
    return profile;
  };
}

/** The text that detection and session hash see: trimmed, and cut so that no pattern meets a huge one. */
export function toUserAgent(header: string | undefined): string {
  return (header ?? '').trim().slice(0, textLimits.userAgent);
}
