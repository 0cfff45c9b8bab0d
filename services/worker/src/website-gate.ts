import type { CollectedEvent } from '@meridian/queue/collected-event';
import { uuidV7TimeMs } from '@meridian/queue/uuid-v7';
import type { Registry } from '@meridian/registry/registry';
import type { WebsiteRoute } from '@meridian/registry/rows';

/**
 * For how long what the registry said of a website is believed; news of a change end it at once. Whoever deletes or resets a
 * website may count on its events being judged by the change after this time.
 */
export const routeLifeMs = 2_000;

const rememberedMax = 20_000;
const lookupsAtOnce = 8;

/** Keeps out the events of deleted websites, and those collected before their website was reset. */
export type WebsiteGate = ReturnType<typeof createWebsiteGate>;

/** `now`: milliseconds of a clock that never steps. */
export function createWebsiteGate({
  registry,
  now = () => performance.now(),
}: {
  registry: Pick<Registry, 'findWebsiteRoute'>;
  now?: () => number;
}) {
  type Answer = { route: WebsiteRoute | null; askedAt: number };
  const remembered = new Map<string, Answer>();
  /** The latest question about a website; news of a change make its answer worthless. */
  const asking = new Map<string, object>();

  const isFresh = ({ askedAt }: Answer): boolean => now() - askedAt < routeLifeMs;

  /** Asks until an answer is still fresh when it comes. */
  async function getRoute(websiteId: string): Promise<WebsiteRoute | null> {
    for (;;) {
      const known = remembered.get(websiteId);
      if (known && isFresh(known)) return known.route;
      const question = {};
      asking.set(websiteId, question);
      const askedAt = now();
      const route = await registry.findWebsiteRoute(websiteId);
      if (asking.get(websiteId) !== question) continue;
      asking.delete(websiteId);
      remembered.set(websiteId, { route, askedAt });
    }
  }

  async function getRoutes(websiteIds: readonly string[]): Promise<Map<string, WebsiteRoute | null>> {
    const routes = new Map<string, WebsiteRoute | null>();
    for (let start = 0; start < websiteIds.length; start += lookupsAtOnce) {
      const some = websiteIds.slice(start, start + lookupsAtOnce);
      await Promise.all(some.map(async (websiteId) => routes.set(websiteId, await getRoute(websiteId))));
    }
    return routes;
  }

  return {
    /** The events that may be stored. Rejects when the registry does not answer: nothing is dropped on suspicion. */
    async admit(events: readonly CollectedEvent[]): Promise<CollectedEvent[]> {
      if (remembered.size > rememberedMax) remembered.clear();
      const routes = await getRoutes([...new Set(events.map((event) => event.websiteId))]);
      return events.filter((event) => isAdmitted(event, routes.get(event.websiteId) ?? null));
    },

    /** To be called on news of a change. */
    forget(websiteId: string): void {
      remembered.delete(websiteId);
      asking.delete(websiteId);
    },
  };
}

/** No route: the website was removed from the registry by hand, with all that was its own. */
function isAdmitted(event: CollectedEvent, route: WebsiteRoute | null): boolean {
  if (!route || route.deleted) return false;
  return route.resetAt === null || uuidV7TimeMs(event.eventId) >= route.resetAt.getTime();
}
