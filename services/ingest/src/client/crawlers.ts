import { createIsbotFromList, isbot } from 'isbot';

/** Which User-Agents are not visitors: none, declared crawlers, or everything that the library `isbot` knows. */
export const botFilters = ['off', 'crawlers', 'isbot'] as const;
export type BotFilter = (typeof botFilters)[number];

/**
 * Patterns of `isbot` that stand for declared crawlers: search engines, monitors, link previews, page testers. A closed
 * list on purpose. The others, taken together, also match every HTTP library, headless browsers and any short name
 * such as `example-worker/1.0`, whose senders are legitimate; and a wrong drop is silent, a kept crawler is visible.
 */
export const crawlerPatterns = [
  '^bot',
  ' daum[ /]',
  ' deusu/',
  '24x7',
  '^blackbox exporter',
  '^duckduckgo',
  '^facebook',
  '^owler',
  '^w3c',
  '^whatsapp',
  '^xenu link sleuth',
  '^yahoo',
  '^yandex',
  'ask jeeves/teoma',
  'chrome-lighthouse',
  'crawl',
  'dareboost',
  'exaleadcloudview',
  'hubspot marketing grader',
  'httrack',
  'linkcheck',
  'nutch',
  'pagespeed',
  'pingdom',
  'preview',
  'ptst[ /]\\d',
  'securityheaders',
  'speedcurve',
  'spider',
  'statuscake',
  'synthetic',
  'validator',
  'webglance',
] as const;

/** Crawlers that `isbot` finds only by patterns too wide for us. */
const moreCrawlerPatterns = [
  '(?<!\\bcu)bots?(?:\\b|_)', // CUBOT makes phones, and does not always stand behind a space
  '\\b(?:mediapartners|apis|adsbot|feedfetcher)-google\\b',
  '\\bgoogle-(?:inspectiontool|read-aloud|site-verification|structured-data|safety|extended|favicon|xrawler|pagerenderer)',
  '\\bgoogleother\\b',
  '\\bgooglehc\\b',
  '^meta-external',
  '^ia_archiver',
  'slurp',
  'vkshare',
  '^embedly',
  '^iframely',
  '^feedly',
  '^kube-probe',
  'health-?check',
  'ahrefssiteaudit',
  'page speed insights',
  'gtmetrix',
  'newrelicpinger',
  '^uptime-kuma',
  'nagios-plugins',
  '^googlestackdrivermonitoring',
  '^updown\\.io',
  '^checkly/',
  '^zabbix',
  '^mastodon/',
  'bluesky cardyb',
  '^(?:anthropic|cohere)-ai',
  '\\b(?:claude|perplexity)-user\\b',
  '\\bqwantify/',
  '\\byeti/\\d',
];

const hasCrawlerPattern = createIsbotFromList([...crawlerPatterns, ...moreCrawlerPatterns]);

/** Of WordPress's HTTP library. The rest is the site's address, in which `preview` or `bot` says nothing. */
const ofWordPress = /^WordPress\/[\w.+-]+; https?:\/\/\S+$/;

const isDeclaredCrawler = (userAgent: string) => hasCrawlerPattern(userAgent) && !ofWordPress.test(userAgent);

/** The test for one setting of BOT_FILTER. */
export function crawlerTest(filter: BotFilter): (userAgent: string) => boolean {
  if (filter === 'off') return () => false;
  return filter === 'isbot' ? isbot : isDeclaredCrawler;
}
