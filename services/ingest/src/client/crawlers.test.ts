import { list } from 'isbot';
import { expect, test } from 'vitest';
import { crawlerPatterns, crawlerTest } from './crawlers.ts';

const crawlers = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.61 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)',
  'Mozilla/5.0 (compatible; GoogleOther)',
  'Mediapartners-Google',
  'APIs-Google (+https://developers.google.com/webmasters/APIs-Google.html)',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b',
  'Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)',
  'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)',
  'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
  'DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)',
  'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
  'Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'CCBot/2.0 (https://commoncrawl.org/faq/)',
  'Mozilla/5.0 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)',
  'ia_archiver (+http://www.alexa.com/site/help/webmasters; crawler@alexa.com)',
  'Screaming Frog SEO Spider/19.4',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)',
  'Twitterbot/1.0',
  'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'Slack-ImgProxy (+https://api.slack.com/robots)',
  'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
  'TelegramBot (like TwitterBot)',
  'WhatsApp/2.23.20.0 A',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
  'Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)',
  'Iframely/1.3.1 (+https://iframely.com/docs/about)',
  'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
  'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/61.0.3163.100 Safari/537.36 PingdomPageSpeed/1.0 (pingbot/2.0; +http://www.pingdom.com/)',
  'Mozilla/5.0 (compatible; StatusCake)',
  'Mozilla/5.0 (compatible; Site24x7)',
  'Datadog/Synthetics',
  'Mozilla/5.0 (Linux; Android 11; moto g power (2022)) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 PTST/240620.130012',
  'W3C_Validator/1.3 http://validator.w3.org/services',
  'kube-probe/1.29',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 GTmetrix',
  'NewRelicPinger/1.0 (1234)',
  'Uptime-Kuma/1.23.13',
  'check_http/v2.3.3 (nagios-plugins 2.3.3)',
  'GoogleStackdriverMonitoring-UptimeChecks(https://cloud.google.com/monitoring)',
  'updown.io daemon 2.11',
  'Checkly/1.0 (https://www.checklyhq.com)',
  'Zabbix',
  'Mastodon/4.2.8 (http.rb/5.1.1; +https://mastodon.social/)',
  'Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ChatGPT-User/1.0; +https://openai.com/bot)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  'Claude-User (claude-code/1.0; +https://support.anthropic.com/)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)',
  'anthropic-ai',
  'cohere-ai',
  'Mozilla/5.0 (compatible; Qwantify/2.4w; +https://www.qwant.com/)/2.4w',
  'Mozilla/5.0 (compatible; Yeti/1.1; +https://naver.me/spd)',
  'ELB-HealthChecker/2.0',
  'WordPress/6.5.4; https://shop.example (compatible; ExampleBot/1.0)',
  'Examplecubot/1.0',
];

const senders = [
  'curl/8.5.0',
  'Wget/1.21.4',
  'python-requests/2.32',
  'python-httpx/0.27.0',
  'Python/3.12 aiohttp/3.9.5',
  'Python-urllib/3.12',
  'node',
  'undici',
  'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
  'axios/1.7.2',
  'got (https://github.com/sindresorhus/got)',
  'Deno/1.44.0',
  'Bun/1.1.13',
  'okhttp/4.12.0',
  'Go-http-client/2.0',
  'GuzzleHttp/7',
  'Symfony HttpClient/Curl',
  'PostmanRuntime/7.39.0',
  'Java/17.0.11',
  'Apache-HttpClient/4.5.14 (Java/17.0.11)',
  'ktor-client',
  'reqwest/0.12',
  'Ruby',
  'Faraday v2.9.1',
  'Dart/3.4 (dart:io)',
  'WordPress/6.5.4; https://shop.example',
  'WordPress/6.5.4; https://preview.shop.example',
  'WordPress/6.7-beta1-59000; http://bot.example/spider',
  'Google-HTTP-Java-Client/1.44.2 (gzip)',
  'google-api-nodejs-client/9.11.0',
  'AppEngine-Google; (+http://code.google.com/appengine; appid: s~shop)',
  'PhotoArchive/1.0',
  'Cloudflare-Workers',
  'Mozilla/5.0',
  'Mozilla/5.0 (Server)',
  'Mozilla/5.0 Umami/20.15.0',
  'Mozilla/5.0 Node/20',
  'example-worker/1.0',
  'shop-tracker/2.1 (order feed)',
  'My Server',
  'CFNetwork/1496.0.7 Darwin/23.5.0',
  'Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/AP2A.240605.024)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.38.125 Chrome/124 Electron/30.0.9 Safari/537.36',
  'Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Linux; Android 10; X20 PRO Build/CUBOT) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Linux; U; Android 9; en-us;CUBOT_P30 Build/PPR1) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/321.0.642804631 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/468.0.0.36.108]',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Snapchat/12.90.0.44 (like Safari/8617.1.17.10.12, panda)',
  'Mozilla/5.0 (Linux; Android 10) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126 Mobile DuckDuckGo/5 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 YaBrowser/24.6.0.0 Safari/537.36',
];

test.each(crawlers)('a declared crawler is one: %s', (userAgent) => {
  expect(crawlerTest('crawlers')(userAgent)).toBe(true);
});

test.each(senders)('a legitimate sender is none: %s', (userAgent) => {
  expect(crawlerTest('crawlers')(userAgent)).toBe(false);
});

test('every pattern of the list is one of isbot, so that an upgrade that changes one is noticed', () => {
  expect(crawlerPatterns.filter((pattern) => !list.includes(pattern))).toEqual([]);
});

test('the other settings: off drops nothing, isbot drops HTTP libraries too', () => {
  expect(crawlers.some(crawlerTest('off'))).toBe(false);
  expect(crawlerTest('isbot')('curl/8.5.0')).toBe(true);
});

test.each(['a '.repeat(256), 'Mozilla/5.0 ('.repeat(40), `Mozilla/5.0 (${'a'.repeat(490)}`, '-_'.repeat(256)])(
  'hostile text of the longest length is decided at once',
  (userAgent) => {
    expect(crawlerTest('crawlers')(userAgent)).toBe(false);
  },
);
