import { expect, test } from 'vitest';
import { createClientProfiles, detectClient, toUserAgent } from './client-profile.ts';

const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)';
const android = 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)';
const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const ipad = 'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const pixelWebView =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.71 Mobile Safari/537.36';

test.each([
  // Desktops
  [`${windows} Chrome/126.0.0.0 Safari/537.36`, 'Chrome', 'Windows', 'desktop'],
  [`${windows} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.56`, 'Edge', 'Windows', 'desktop'],
  [`${windows} Chrome/51.0.2704.79 Safari/537.36 Edge/14.14393`, 'Edge', 'Windows', 'desktop'],
  [`${windows} Chrome/126.0.0.0 Safari/537.36 OPR/111.0.0.0`, 'Opera', 'Windows', 'desktop'],
  [`${windows} Chrome/124.0.0.0 Safari/537.36 OPR/110.0.0.0 (Edition GX)`, 'Opera', 'Windows', 'desktop'],
  [`${windows} Chrome/126.0.0.0 Safari/537.36 Vivaldi/6.7`, 'Vivaldi', 'Windows', 'desktop'],
  [`${windows} Chrome/124.0.0.0 YaBrowser/24.6.0.0 Safari/537.36`, 'Yandex Browser', 'Windows', 'desktop'],
  [`${windows} Slack/4.38.125 Chrome/124 Electron/30.0.9 Safari/537.36`, 'Electron', 'Windows', 'desktop'],
  ['Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko', 'Internet Explorer', 'Windows', 'desktop'],
  [`${mac} Version/17.4.1 Safari/605.1.15`, 'Safari', 'Mac OS', 'desktop'],
  [`${mac} Version/17.5 Safari/605.1.15 Ddg/17.5`, 'DuckDuckGo', 'Mac OS', 'desktop'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0', 'Firefox', 'Linux', 'desktop'],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0', 'Firefox', 'Linux', 'desktop'],
  [
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'Chrome',
    'Chrome OS',
    'desktop',
  ],
  // Phones
  [`${android} Chrome/126.0.0.0 Mobile Safari/537.36`, 'Chrome', 'Android', 'mobile'],
  [`${android} Chrome/126.0.6478.71 Mobile Safari/537.36 EdgA/125.0.2535.72`, 'Edge', 'Android', 'mobile'],
  [`${android} Chrome/126.0.6478.71 Mobile Safari/537.36 OPR/76.2.4027.73374`, 'Opera', 'Android', 'mobile'],
  [`${android} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36`, 'Samsung Internet', 'Android', 'mobile'],
  ['Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0', 'Firefox', 'Android', 'mobile'],
  [
    'Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16',
    'Opera Mini',
    'Android',
    'mobile',
  ],
  [`${iphone} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari', 'iOS', 'mobile'],
  [`${iphone} CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1`, 'Chrome', 'iOS', 'mobile'],
  [`${iphone} FxiOS/127.0 Mobile/15E148 Safari/605.1.15`, 'Firefox', 'iOS', 'mobile'],
  [`${iphone} Version/17.0 EdgiOS/125.2535.96 Mobile/15E148 Safari/605.1.15`, 'Edge', 'iOS', 'mobile'],
  [`${iphone} GSA/321.0.642804631 Mobile/15E148 Safari/604.1`, 'Google App', 'iOS', 'mobile'],
  ['Mozilla/5.0 (Mobile; Nokia 8110 4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5', 'Firefox', 'KaiOS', 'mobile'],
  // Tablets
  [`${android} Chrome/126.0.0.0 Safari/537.36`, 'Chrome', 'Android', 'tablet'],
  [`${android} SamsungBrowser/25.0 Chrome/121.0.0.0 Safari/537.36`, 'Samsung Internet', 'Android', 'tablet'],
  ['Mozilla/5.0 (Android 14; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0', 'Firefox', 'Android', 'tablet'],
  [
    'Mozilla/5.0 (Linux; Android 9; KFMUWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/108.4.6 like Chrome/108.0.5359.220 Safari/537.36',
    'Silk',
    'Android',
    'tablet',
  ],
  [`${ipad} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari', 'iOS', 'tablet'],
  // Browsers inside apps
  [`${iphone} Mobile/15E148 [FBAN/FBIOS;FBAV/468.0.0.36.108;FBDV/iPhone13,2]`, 'Facebook', 'iOS', 'mobile'],
  [`${pixelWebView} [FB_IAB/FB4A;FBAV/468.0.0.55.76;]`, 'Facebook', 'Android', 'mobile'],
  [`${iphone} Mobile/15E148 Instagram 335.0.1.26.98 (iPhone13,2; iOS 17_5_1)`, 'Instagram', 'iOS', 'mobile'],
  [`${pixelWebView} Instagram 335.0.0.39.93 Android (34/14; 480dpi)`, 'Instagram', 'Android', 'mobile'],
  [`${iphone} Mobile/15E148 musical_ly_34.9.0 BytedanceWebview/d8a21c6`, 'TikTok', 'iOS', 'mobile'],
  [`${iphone} Mobile/15E148 LinkedInApp/9.30.1234`, 'LinkedIn', 'iOS', 'mobile'],
  [`${iphone} Mobile/15E148 [Pinterest/iOS]`, 'Pinterest', 'iOS', 'mobile'],
  [`${iphone} Mobile/15E148 MicroMessenger/8.0.49(0x18003137) NetType/WIFI`, 'WeChat', 'iOS', 'mobile'],
  [`${iphone} Mobile/15E148`, 'Safari WebView', 'iOS', 'mobile'],
  [pixelWebView, 'Chrome WebView', 'Android', 'mobile'],
  // TVs and consoles are desktops, watches are mobile
  [
    'Mozilla/5.0 (SMART-TV; Linux; Tizen 6.5) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/85.0.4183.93 TV Safari/537.36',
    'Samsung Internet',
    'Tizen',
    'desktop',
  ],
  [
    'Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36 WebAppManager',
    'Chrome',
    'webOS',
    'desktop',
  ],
  [
    'Mozilla/5.0 (Linux; Android 11; BRAVIA 4K UR2) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'Chrome',
    'Android',
    'desktop',
  ],
  [
    'Mozilla/5.0 (PlayStation 5 3.20) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 Safari/605.1.15',
    'Safari',
    'PlayStation',
    'desktop',
  ],
  [
    `${windows.replace('x64)', 'x64; Xbox; Xbox Series X)')} Chrome/48 Safari/537.36 Edge/20.02`,
    'Edge',
    'Xbox',
    'desktop',
  ],
  [
    'Mozilla/5.0 (Apple Watch; CPU Watch OS 10_0 like Mac OS X) AppleWebKit/605.1.15',
    'Safari WebView',
    'watchOS',
    'mobile',
  ],
  // Senders on a server
  ['curl/8.5.0', '', '', 'desktop'],
  ['python-requests/2.32', '', '', 'desktop'],
  ['Mozilla/5.0 Umami/20.15.0', '', '', 'desktop'],
  ['node', '', '', 'desktop'],
])('%s', (userAgent, browser, os, device) => {
  expect(detectClient(userAgent)).toEqual({ browser, os, device });
});

test('a User-Agent is detected once', () => {
  const profileOf = createClientProfiles('crawlers');
  expect(profileOf('curl/8.5.0')).toBe(profileOf('curl/8.5.0'));
  expect(profileOf('Googlebot/2.1').isCrawler).toBe(true);
});

test('blank is nothing, and a huge one is cut before any pattern sees it', () => {
  expect([undefined, '', '   ', ' curl/8 '].map(toUserAgent)).toEqual(['', '', '', 'curl/8']);
  expect(toUserAgent('x'.repeat(64_000))).toHaveLength(512);
});

test.each(['a '.repeat(256), 'Mozilla/5.0 ('.repeat(40), `${'Android '.repeat(64)}`, `iphone os ${'1_'.repeat(240)}`])(
  'hostile text is detected like any other',
  (userAgent) => {
    expect(['desktop', 'mobile', 'tablet']).toContain(detectClient(userAgent).device);
  },
);
