/**
 * Where a visitor came from, as one of the channels of docs/semantics.md "Breakdowns", from the referrer, the UTM
 * values and the click ids of one event. A source is known by its domain (`google.co.uk`, `l.facebook.com`) or by its
 * name in utm_source (`google`). The first rule that fits decides.
 */

/**
 * Names are a label of the domain before its ending (`de`, `co.uk`); what has a dot is a domain, its subdomains
 * included. Apps on Android send `android-app://<package>`, which is taken for a domain.
 */
const sources = {
  email: [
    ...['mail.google.com', 'com.google.android.gm', 'mail.proton.me', 'mail.ru', 'mail.ukr.net', 'mail.aol.com'],
    ...['mail.yahoo.com', 'mail.yahoo.co.jp', 'mail.yandex.ru', 'mail.yandex.com', 'mail.one.com', 'mail.daum.net'],
    ...[
      'mail.gmx.net',
      'mail.gmx.com',
      'mail.gmx.de',
      'mail.zoho.com',
      'mail.zoho.eu',
      'mail.zoho.in',
      'mail.nate.com',
    ],
    ...['mail.qq.com', 'mail.163.com', 'mail.126.com', 'mail.sohu.com'],
    ...['outlook.live.com', 'outlook.office.com', 'outlook.office365.com'],
    'outlook',
    'gmail',
    'mail',
    'email',
    'newsletter',
  ],
  llm: [
    'chatgpt',
    'chat.openai.com',
    'openai',
    'claude.ai',
    'anthropic',
    'perplexity',
    'gemini.google.com',
    'copilot.microsoft.com',
    'chat.deepseek.com',
    'chat.mistral.ai',
    'grok',
    'meta.ai',
    'poe.com',
    'phind',
    'you.com',
  ],
  video: ['youtube', 'youtu.be', 'vimeo', 'twitch', 'dailymotion', 'bilibili', 'netflix', 'hulu', 'disneyplus'],
  shopping: [
    'shopping.google.com',
    'amazon',
    'ebay',
    'etsy',
    'aliexpress',
    'alibaba',
    'walmart',
    'shopify',
    'idealo',
    'allegro.pl',
  ],
  social: [
    'facebook',
    'fb.com',
    'fb.me',
    'instagram',
    'ig.me',
    'threads.net',
    'threads.com',
    'twitter',
    'x.com',
    't.co',
    'linkedin',
    'lnkd.in',
    'reddit',
    'pinterest',
    'pin.it',
    'tiktok',
    'snapchat',
    'quora',
    'tumblr',
    'vk.com',
    'weibo',
    'telegram',
    't.me',
    'whatsapp',
    'wa.me',
    'discord',
    'bsky.app',
    'bluesky',
    'mastodon',
    'mastodon.social',
    'news.ycombinator.com',
    'lobste.rs',
    'xing',
  ],
  search: [
    'google',
    'com.google.android.googlequicksearchbox',
    'bing',
    'duckduckgo',
    'yahoo',
    'yandex',
    'ya.ru',
    'baidu',
    'ecosia',
    'qwant',
    'startpage',
    'search.brave.com',
    'naver',
    'seznam',
    'sogou',
    'kagi',
    'ask.com',
    'aol',
    'swisscows',
    'mojeek',
  ],
} as const;

/** The texts by which a channel is known, in the order of `SOURCE_OF_EVENT`. */
const sourceColumns = ['referrer_domain', 'hostname', 'utm_source', 'utm_medium'] as const;

/**
 * SQL: what `withChannels` needs of an event. Meta adds fbclid to every outgoing link: it says nothing about payment.
 */
export const SOURCE_OF_EVENT = `tuple(${sourceColumns.map((column) => `toString(${column})`).join(', ')},
  toUInt8(gclid != '' OR msclkid != '' OR ttclid != '' OR li_fat_id != '' OR twclid != ''))`;

/** SQL: rows that have a SOURCE_OF_EVENT as `x`, with its channel in the place of that. */
export function withChannels(rows: string): string {
  // Few distinct texts, so that the many expressions are matched with each text once.
  const columns = sourceColumns.map((column, i) => `lower(toLowCardinality(x.${i + 1})) AS ${column}`);
  return `SELECT * EXCEPT (${sourceColumns.join(', ')}, has_click_id) REPLACE (${CHANNEL} AS x)
    FROM (SELECT *, ${columns.join(', ')}, x.5 = 1 AS has_click_id FROM (${rows}))`;
}

const mediumHas = (word: string) => `position(utm_medium, '${word}') > 0`;

const isFrom = (kind: keyof typeof sources) => {
  const { ofDomain, ofName } = expressionsOf(kind);
  return `(match(referrer_domain, '${ofDomain}') OR match(utm_source, '${ofDomain}|${ofName}'))`;
};

const PAID = `(match(utm_medium, '^(.*cp[acmv]|ppc|retargeting|paid.*|.*[-_ ]paid|display|banner|ads?)$') OR has_click_id)`;

/** Of columns in lower case. */
const CHANNEL = `multiIf(
  ${mediumHas('mail')} OR ${isFrom('email')}, 'email',
  match(utm_medium, '^(sms|mms)$') OR utm_source = 'sms', 'sms',
  ${mediumHas('affiliate')}, 'affiliate',
  ${isFrom('llm')}, 'llm',
  ${isFrom('video')} OR ${mediumHas('video')}, if(${PAID}, 'paidVideo', 'organicVideo'),
  ${isFrom('shopping')} OR ${mediumHas('shop')}, if(${PAID}, 'paidShopping', 'organicShopping'),
  ${isFrom('social')} OR ${mediumHas('social')}, if(${PAID}, 'paidSocial', 'organicSocial'),
  ${isFrom('search')} OR utm_medium = 'organic', if(${PAID}, 'paidSearch', 'organicSearch'),
  ${PAID}, 'paidAds',
  referrer_domain NOT IN ('', hostname) OR utm_source != '' OR utm_medium != '', 'referral',
  'direct')`;

function expressionsOf(kind: keyof typeof sources): { ofDomain: string; ofName: string } {
  const escaped = (text: string) => text.replaceAll('.', '\\\\.');
  const names = sources[kind].filter((name) => !name.includes('.'));
  const domains = sources[kind].filter((name) => name.includes('.')).map(escaped);
  const ofDomain = `(^|\\\\.)(${[`(${names.join('|')})(\\\\.com?)?\\\\.[a-z]{2,4}`, ...domains].join('|')})$`;
  return { ofDomain, ofName: `^(${[...names, ...domains].join('|')})$` };
}
