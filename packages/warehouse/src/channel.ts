/**
 * Where a visitor came from, as one of the channels of docs/semantics.md "Breakdowns", from the referrer, the UTM values and the click ids of one event.
 * A source is known by its domain (`google.co.uk`, `l.facebook.com`) or by its name in utm_source (`google`). The first rule that fits decides.
 */

/** Names are a label of the domain before its ending; what has a dot is a domain, its subdomains included. */
const sources = {
  email: ['mail.google.com', 'mail.yahoo.com', 'outlook', 'mail.proton.me', 'mail.ru', 'mail', 'email', 'newsletter'],
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

/** Meta adds fbclid to every outgoing link: it says nothing about payment. */
const PAID = `(match(lower(utm_medium), '^(.*cp[acmv]|ppc|retargeting|paid.*|.*[-_ ]paid|display|banner|ads?)$')
  OR gclid != '' OR msclkid != '' OR ttclid != '' OR li_fat_id != '' OR twclid != '')`;

/** SQL: the channel of one event. */
export const CHANNEL_OF_EVENT = `multiIf(
  ${medium('mail')} OR ${source('email')}, 'email',
  match(lower(utm_medium), '^(sms|mms)$') OR lower(utm_source) = 'sms', 'sms',
  ${medium('affiliate')}, 'affiliate',
  ${source('llm')}, 'llm',
  ${source('video')} OR ${medium('video')}, if(${PAID}, 'paidVideo', 'organicVideo'),
  ${source('shopping')} OR ${medium('shop')}, if(${PAID}, 'paidShopping', 'organicShopping'),
  ${source('social')} OR ${medium('social')}, if(${PAID}, 'paidSocial', 'organicSocial'),
  ${source('search')} OR lower(utm_medium) = 'organic', if(${PAID}, 'paidSearch', 'organicSearch'),
  ${PAID}, 'paidAds',
  referrer_domain NOT IN ('', hostname) OR utm_source != '' OR utm_medium != '', 'referral',
  'direct')`;

function medium(word: string): string {
  return `position(lower(utm_medium), '${word}') > 0`;
}

function source(kind: keyof typeof sources): string {
  const escaped = (text: string) => text.replaceAll('.', '\\\\.');
  const names = sources[kind].filter((name) => !name.includes('.'));
  const domains = sources[kind].filter((name) => name.includes('.')).map(escaped);
  const ofDomain = `(^|\\\\.)(${[`(${names.join('|')})(\\\\.[a-z]{2,4}){1,2}`, ...domains].join('|')})$`;
  const ofName = `^(${[...names, ...domains].join('|')})$`;
  return `(match(lower(referrer_domain), '${ofDomain}') OR match(lower(utm_source), '${ofDomain}|${ofName}'))`;
}
