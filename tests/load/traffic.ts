import { commonUserAgents, rareUserAgent } from './user-agents.ts';
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

const languages = ['en-US', 'de-DE', 'fr-FR', 'es-ES', 'pt-BR'];
/** One visitor of twenty has a browser that is rare. */
export const userAgentOf = (visitor: number): string =>
  visitor % 20 === 0 ? rareUserAgent(visitor / 20) : pick(commonUserAgents, visitor * 7);

const screens = ['1920x1080', '390x844', '1440x900', '1536x864', '412x915'];
const pick = <Value>(values: readonly Value[], n: number): Value => values[n % values.length] as Value;

/** The n-th page of the shop: each has a path and a title of its own. */
const pathOf = (n: number) => `/category-${n % 40}/item-${n}`;

/** What the tracker says of page `page` of visit `visit`: every seventh an event of the shop, the others pageviews. */
export function payload(website: string, visit: number, page: number) {
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

/**
 * Visits as browsers send them: several pages each, every tenth by a visitor with an id. Half of the visitors keep the
 * token.
 */
export function sendTraffic(websites: readonly string[], requestCount: number): Visit[] {
  return Array.from({ length: Math.ceil(requestCount / pagesPerVisit) }, (_, visit) => ({
    keepsToken: visit % 2 === 0,
    requests: Array.from({ length: pagesPerVisit }, (_, page) =>
      post(
        '/api/send',
        userAgentOf(visit),
        JSON.stringify({
          type: 'event',
          payload: {
            ...payload(pick(websites, visit), visit, page),
            ...(visit % 20 < 2 && { id: `customer-${visit}` }),
          },
        }),
      ),
    ),
  }));
}

/**
 * Batches as servers send them: events of many visitors of one website, half of them known by id, half by address and
 * browser. Half of the senders keep the token.
 */
export function batchTraffic(websites: readonly string[], batchCount: number): Visit[] {
  const event = (website: string, n: number) => {
    const visitor = Math.floor(n / 3);
    const who =
      visitor % 2 === 0 ? { id: `customer-${visitor}` } : { ip: addressOf(visitor), userAgent: userAgentOf(visitor) };
    return { type: 'event', payload: { ...payload(website, visitor, n % 3), ...who } };
  };
  return Array.from({ length: Math.ceil(batchCount / batchesPerSender) }, (_, sender) => ({
    keepsToken: sender % 2 === 0,
    requests: Array.from({ length: batchesPerSender }, (_, i) =>
      post(
        '/api/batch',
        `shop-server/${sender % 10}`,
        JSON.stringify(
          Array.from({ length: eventsPerBatch }, (_, index) =>
            event(pick(websites, sender), (sender * batchesPerSender + i) * eventsPerBatch + index),
          ),
        ),
      ),
    ),
  }));
}

/** ASCII throughout, so that a request can be written as latin1. */
export function post(path: string, userAgent: string, body: string): PreparedRequest {
  return {
    head: `POST ${path} HTTP/1.1\r\nhost: collect.example\r\nuser-agent: ${userAgent}\r\nx-forwarded-for: `,
    rest: `accept: */*\r\norigin: https://shop.example\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  };
}
