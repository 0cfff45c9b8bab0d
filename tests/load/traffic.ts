import { addressOf } from './visitors.ts';

/** A prepared request; the visitor's address and token come between its parts, see `toRequest`. */
export type PreparedRequest = { head: string; rest: string };

/** Requests of one visitor, in order. */
export type Visit = {
  requests: PreparedRequest[];
  /** Whether the visitor hands back the token of the last answer. */
  keepsToken: boolean;
};

const pagesPerVisit = 5;
export const eventsPerBatch = 100;
const batchesPerSender = 4;

/** Browsers of different kinds and versions, as many as a busy collector sees within minutes. */
const userAgents = Array.from({ length: 200 }, (_, n) => {
  const version = 100 + (n >> 3);
  const chrome = (system: string, more = '') =>
    `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 ${more}Safari/537.36`;
  const firefox = `rv:${version}.0) Gecko/20100101 Firefox/${version}.0`;
  const safari = `AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version % 9}.5`;
  const kinds = [
    chrome('Windows NT 10.0; Win64; x64'),
    chrome('Macintosh; Intel Mac OS X 10_15_7'),
    chrome(`Linux; Android ${8 + (n % 7)}; Pixel ${n % 9}`, 'Mobile '),
    `${chrome('Windows NT 10.0; Win64; x64')} Edg/${version}.0.0.0`,
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64; ${firefox}`,
    `Mozilla/5.0 (X11; Linux x86_64; ${firefox}`,
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_${n % 7} like Mac OS X) ${safari} Mobile/15E148 Safari/604.1`,
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${safari} Safari/605.1.15`,
  ];
  return kinds[n % kinds.length] ?? '';
});

const languages = ['en-US', 'de-DE', 'fr-FR', 'es-ES', 'pt-BR'];
const screens = ['1920x1080', '390x844', '1440x900', '1536x864', '412x915'];
const pick = <Value>(values: readonly Value[], n: number): Value => values[n % values.length] as Value;

/** The n-th page of the shop: each has a path and a title of its own. */
const pathOf = (n: number) => `/category-${n % 40}/item-${n}`;

/** What the tracker says of page `page` of visit `visit`: every seventh an event of the shop, the others pageviews. */
function payload(website: string, visit: number, page: number) {
  const n = visit * pagesPerVisit + page;
  const campaign = page === 0 && visit % 4 === 0 ? `?utm_source=newsletter-${visit % 50}&utm_medium=email` : '';
  const cameFrom = visit % 3 === 0 ? `https://www.search-${visit % 200}.example/find?q=${visit}` : '';
  return {
    website,
    hostname: 'shop.example',
    screen: pick(screens, visit),
    language: pick(languages, visit),
    title: `Item ${n} of category ${n % 40} | Example shop`,
    url: `https://shop.example${pathOf(n)}${campaign}`,
    referrer: page === 0 ? cameFrom : `https://shop.example${pathOf(n - 1)}`,
    ...(n % 7 === 0 && { name: 'add to cart', data: { price: n % 100, currency: 'EUR', item: `item-${n}` } }),
  };
}

/** Visits as browsers send them: several pages each, every tenth by a visitor with an id. Half of the visitors keep the token. */
export function sendTraffic(websites: readonly string[], requestCount: number): Visit[] {
  return Array.from({ length: Math.ceil(requestCount / pagesPerVisit) }, (_, visit) => ({
    keepsToken: visit % 2 === 0,
    requests: Array.from({ length: pagesPerVisit }, (_, page) =>
      post('/api/send', pick(userAgents, visit * 7), {
        type: 'event',
        payload: {
          ...payload(pick(websites, visit), visit, page),
          ...(visit % 10 === 0 && { id: `customer-${visit}` }),
        },
      }),
    ),
  }));
}

/**
 * Batches as servers send them: events of many visitors of one website, half of them known by id, half by address and browser.
 * Half of the senders keep the token.
 */
export function batchTraffic(websites: readonly string[], batchCount: number): Visit[] {
  const event = (batch: number, index: number) => {
    const n = batch * eventsPerBatch + index;
    const visitor = Math.floor(n / 3);
    const who =
      visitor % 2 === 0
        ? { id: `customer-${visitor}` }
        : { ip: addressOf(visitor), userAgent: pick(userAgents, visitor * 7) };
    return { type: 'event', payload: { ...payload(pick(websites, batch), visitor, n % 3), ...who } };
  };
  return Array.from({ length: Math.ceil(batchCount / batchesPerSender) }, (_, sender) => ({
    keepsToken: sender % 2 === 0,
    requests: Array.from({ length: batchesPerSender }, (_, i) =>
      post(
        '/api/batch',
        `shop-server/${sender % 10}`,
        Array.from({ length: eventsPerBatch }, (_, index) => event(sender * batchesPerSender + i, index)),
      ),
    ),
  }));
}

/** ASCII throughout, so that a request can be written as latin1. */
function post(path: string, userAgent: string, content: unknown): PreparedRequest {
  const body = JSON.stringify(content);
  return {
    head: `POST ${path} HTTP/1.1\r\nhost: collect.example\r\nuser-agent: ${userAgent}\r\nx-forwarded-for: `,
    rest: `accept: */*\r\norigin: https://shop.example\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  };
}
