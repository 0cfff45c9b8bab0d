import { UAParser } from 'ua-parser-js';
import { browserName, browsersByPattern, systemName, systemsByPattern } from './client-names.ts';

/** What is told apart from a User-Agent. Names are those of docs/clients.md; '' = unknown. */
export type DetectedClient = { browser: string; os: string; device: 'desktop' | 'mobile' | 'tablet' };

/** Detects browser, system and device: what `ua-parser-js` finds, corrected and under one name per product. */
export function detectClient(userAgent: string): DetectedClient {
  const parser = new UAParser(userAgent);
  const browser = firstMatch(browsersByPattern, userAgent) ?? browserName(parser.getBrowser().name ?? '', userAgent);
  const os = firstMatch(systemsByPattern, userAgent) ?? systemName(parser.getOS().name ?? '');
  return { browser, os, device: deviceOf(userAgent, os, browser, parser.getDevice().type) };
}

function firstMatch(table: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return table.find(([pattern]) => pattern.test(userAgent))?.[1];
}

const television =
  /\b(?:(?:Android|Apple|Google|Smart)[- ]?TV|TV Safari|HbbTV|CrKey|Chromecast|BRAVIA|AFT[A-Z]+\d*|MiTV|MIBOX|NetCast|Web0S|webOSTV|VIDAA|Viera|Roku)\b/i;
/** Asking for desktop pages, an iPad calls itself a Macintosh; only in apps it still says Mobile, which no Mac does. */
const disguisedIpad = /\bMacintosh\b.*\bMobile\//;
const browserEngine = /\b(?:AppleWebKit|Gecko)\//;

const desktopSystems = new Set(['Windows', 'Mac OS', 'Chrome OS']);
/** Where the parser finds no kind of device, one with such a system is a phone (or a watch). */
const phoneSystems = new Set([
  ...['Android', 'iOS', 'KaiOS', 'HarmonyOS', 'Windows Phone', 'BlackBerry', 'Symbian', 'Java ME', 'Firefox OS'],
  'watchOS',
]);

/**
 * TVs, consoles and cars are desktops, watches and headsets are mobile (docs/semantics.md "Client"). What names no
 * system is a desktop, Opera Mini apart.
 */
function deviceOf(userAgent: string, os: string, browser: string, type: string | undefined): DetectedClient['device'] {
  if (television.test(userAgent) || desktopSystems.has(os)) return 'desktop';
  if (browser === 'Opera Mini') return type === 'tablet' ? 'tablet' : 'mobile';
  if (os === '') return 'desktop';
  if (type === 'tablet' || disguisedIpad.test(userAgent)) return 'tablet';
  if (type === 'wearable') return 'mobile';
  // Browsers on Android say Mobile on phones and leave it out on tablets, whatever the model is called.
  if (os === 'Android' && browserEngine.test(userAgent) && !/\bMobile\b/.test(userAgent)) return 'tablet';
  return type === 'mobile' || (type === undefined && phoneSystems.has(os)) ? 'mobile' : 'desktop';
}
