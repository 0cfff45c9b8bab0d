export type CollectRoute = 'send' | 'batch';

/**
 * Finds the route of a request target: `send` and `batch` under /api, /v1 and /v1/<region> of any region, with or
 * without a trailing slash and a query. Exact otherwise: nothing is decoded, so an odd spelling is not ours.
 */
export function createCollectPaths(regions: readonly string[]): (target: string) => CollectRoute | null {
  const routes = new Map<string, CollectRoute>();
  for (const prefix of ['/api', '/v1', ...regions.map((region) => `/v1/${region}`)]) {
    for (const route of ['send', 'batch'] as const) {
      routes.set(`${prefix}/${route}`, route);
      routes.set(`${prefix}/${route}/`, route);
    }
  }
  return (target) => routes.get(target) ?? routes.get(pathOf(target)) ?? null;
}

/** Path of `/path?query` and of the absolute form that proxies send, `http://host/path?query`. */
function pathOf(target: string): string {
  const authority = target.startsWith('/') ? 0 : target.indexOf('://') + 3;
  const start = authority === 0 ? 0 : target.indexOf('/', authority);
  const query = target.indexOf('?');
  return start === -1 ? '/' : target.slice(start, query === -1 ? target.length : query);
}
