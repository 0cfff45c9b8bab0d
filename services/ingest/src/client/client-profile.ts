import { textLimits } from '@meridian/contract/collect';
import { Lru } from '@meridian/runtime/lru';
import { UAParser } from 'ua-parser-js';
import { type BotFilter, crawlerTest } from './crawlers.ts';

/** What a User-Agent tells. Names are those of docs/clients.md; '' = unknown. */
export type ClientProfile = {
  browser: string;
  os: string;
  device: 'desktop' | 'mobile' | 'tablet';
  isCrawler: boolean;
};

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

type Detected = Omit<ClientProfile, 'isCrawler'>;

/** One name per product: variants of the parser's names that say the same to a reader of statistics. */
const browserNames: Readonly<Record<string, string>> = {
  'Mobile Safari': 'Safari',
  'Mobile Firefox': 'Firefox',
  'Mobile Chrome': 'Chrome',
  'Opera Mobi': 'Opera',
  'Opera GX': 'Opera',
  WebKit: 'Safari WebView',
  GSA: 'Google App',
  IE: 'Internet Explorer',
  IEMobile: 'Internet Explorer',
  UCBrowser: 'UC Browser',
  Yandex: 'Yandex Browser',
};

const osNames: Readonly<Record<string, string>> = {
  'Chromium OS': 'Chrome OS',
  KAIOS: 'KaiOS',
  'Android-x86': 'Android',
  'Windows Mobile': 'Windows Phone',
};
const linuxDistributions =
  /^(Arch|CentOS|Debian|Deepin|Fedora|Gentoo|Linspire|Linpus|Mageia|Mandriva|Manjaro|Mint|PCLinuxOS|Raspbian|RedHat|Sabayon|Slackware|SUSE|Ubuntu|VectorLinux|Zenwalk|elementary OS|GNU)\b/i;

/** In-app browsers and watches that the parser does not know. */
const inAppBrowsers = [
  [/\bLinkedInApp\//, 'LinkedIn'],
  [/\[Pinterest\//, 'Pinterest'],
] as const;
const watch = /\bApple Watch\b|\bWatch OS\b|\bwatchOS\b/;

/** Systems of phones: where the parser finds no kind of device, it is one. */
const phoneSystems = new Set(['Android', 'iOS', 'KaiOS', 'HarmonyOS', 'Windows Phone']);

export function detectClient(userAgent: string): Detected {
  if (watch.test(userAgent)) return { browser: 'Safari WebView', os: 'watchOS', device: 'mobile' };
  const { browser, os, device } = new UAParser(userAgent).getResult();
  const inApp = inAppBrowsers.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browserName = inApp ?? browser.name ?? '';
  const osName = os.name ?? '';
  const system = linuxDistributions.test(osName) ? 'Linux' : (osNames[osName] ?? osName);
  return { browser: browserNames[browserName] ?? browserName, os: system, device: toDevice(device.type, system) };
}

/** TVs, consoles and cars are desktops, watches and headsets are mobile (docs/semantics.md "Client"); so is nothing without a system. */
function toDevice(type: string | undefined, system: string): Detected['device'] {
  if (system === '') return 'desktop';
  if (type === 'mobile' || type === 'tablet') return type;
  if (type === 'wearable') return 'mobile';
  return type === undefined && phoneSystems.has(system) ? 'mobile' : 'desktop';
}
