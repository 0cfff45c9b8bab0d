/**
 * One name per product (docs/clients.md lists them): `ua-parser-js` takes a name as the User-Agent spells it, has
 * several for some products and does not know others; senders that name a client themselves spell it as they like.
 */

/** Browsers whose product the parser misses or misnames; the first that matches counts. */
export const browsersByPattern: readonly (readonly [RegExp, string])[] = [
  [/\bFB(?:AN|AV|_IAB)\//, 'Facebook'],
  [/\bInstagram \d/, 'Instagram'],
  [/\bBarcelona \d/, 'Threads'],
  [/\b(?:BytedanceWebview\/|musical_ly_|trill_)/, 'TikTok'],
  [/\[?\bLinkedInApp\b/, 'LinkedIn'],
  [/\[Pinterest\//, 'Pinterest'],
  [/Snapchat\/?\d/, 'Snapchat'],
  [/\bLine\/\d/, 'Line'],
  [/\bGSA\/\d/, 'Google App'],
  [/\bReddit\//, 'Reddit'],
  [/\bPlayStation\b/, 'PlayStation Browser'],
  [/\bNintendoBrowser\//, 'Nintendo Browser'],
  [/\bTizen\b.* TV Safari\//, 'Samsung Internet'],
];

/** Systems that the parser misses or misnames; the first that matches counts. */
export const systemsByPattern: readonly (readonly [RegExp, string])[] = [
  [/\bApple Watch\b|\bWatch ?OS\b/i, 'watchOS'],
  [/\bApple ?TV/, 'tvOS'],
  [/\bMacintosh\b.*\bMobile\//, 'iOS'],
  [/\bRoku\//, 'Roku'],
  [/\bJ2ME\//, 'Java ME'],
];

const browserNames = byLowerCase(
  [
    ...browsersByPattern.map(([, name]) => name),
    ...['Chrome', 'Chromium', 'Chrome Headless', 'Chrome WebView', 'Android Browser', 'Safari', 'Firefox', 'Edge'],
    ...['Firefox Focus', 'Opera', 'Opera Mini', 'Samsung Internet', 'Brave', 'Vivaldi', 'DuckDuckGo', 'Silk'],
    ...['Whale', 'Electron', 'Epiphany', 'Tesla', 'Instagram', 'Snapchat', 'Line', 'WeChat', 'Twitter'],
    ...['KakaoTalk', 'Naver', 'Weibo', 'Coc Coc', 'Puffin', 'Baidu', 'Quark', 'Huawei Browser', 'Oculus Browser'],
    ...['Vivo Browser', 'MIUI Browser', 'Facebook', 'TikTok', 'LinkedIn', 'Konqueror', 'Waterfox', 'Maxthon', 'Kindle'],
  ],
  {
    'Mobile Safari': 'Safari',
    'Mobile Firefox': 'Firefox',
    'Mobile Chrome': 'Chrome',
    'Opera Mobi': 'Opera',
    'Opera Tablet': 'Opera',
    'Opera GX': 'Opera',
    'Opera Touch': 'Opera',
    'Opera Coast': 'Opera',
    WebKit: 'Safari WebView',
    IE: 'Internet Explorer',
    IEMobile: 'Internet Explorer',
    UCBrowser: 'UC Browser',
    QQBrowser: 'QQ Browser',
    '360': '360 Browser',
    HeyTap: 'HeyTap Browser',
    Yandex: 'Yandex Browser',
  },
);

const systemNames = byLowerCase(
  [
    ...systemsByPattern.map(([, name]) => name),
    ...[
      'Windows',
      'Windows Phone',
      'Mac OS',
      'iOS',
      'Android',
      'Linux',
      'Chrome OS',
      'HarmonyOS',
      'KaiOS',
      'Tizen',
      'webOS',
    ],
    ...['watchOS', 'BlackBerry', 'Symbian', 'Firefox OS', 'PlayStation', 'Xbox', 'Nintendo', 'Chromecast', 'FreeBSD'],
  ],
  {
    'Chromium OS': 'Chrome OS',
    'Android-x86': 'Android',
    OpenHarmony: 'HarmonyOS',
    'Windows Mobile': 'Windows Phone',
    'Windows Phone OS': 'Windows Phone',
    'Windows IoT': 'Windows',
    'RIM Tablet OS': 'BlackBerry',
    Series40: 'Symbian',
  },
);
const linuxDistributions =
  /^(Arch|CentOS|Debian|Deepin|Fedora|Gentoo|Linspire|Linpus|Mageia|Mandriva|Manjaro|Mint|PCLinuxOS|Raspbian|RedHat|Red Hat|Sabayon|Slackware|(?:open)?SUSE|[KXL]?Ubuntu|VectorLinux|Zenwalk|elementary OS|GNU)\b/i;

/**
 * @param found the parser's name, or the sender's
 * @param userAgent '' where the name is the sender's
 */
export function browserName(found: string, userAgent: string): string {
  // Since Android 4.4 what calls itself the old browser and has Chrome's engine is a web view.
  if (found === 'Android Browser' && /\bChrome\//.test(userAgent)) return 'Chrome WebView';
  return browserNames.get(found.toLowerCase()) ?? found;
}

/** @param found the parser's name, or the sender's */
export function systemName(found: string): string {
  return linuxDistributions.test(found) ? 'Linux' : (systemNames.get(found.toLowerCase()) ?? found);
}

/** `others`: further names of products, and the one that counts, which need not be among `names`. */
function byLowerCase(names: readonly string[], others: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const own = [...names, ...Object.values(others)].map((name): [string, string] => [name, name]);
  const pairs = [...own, ...Object.entries(others)];
  return new Map(pairs.map(([from, to]) => [from.toLowerCase(), to]));
}
