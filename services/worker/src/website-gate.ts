import type { CollectedEvent } from '@meridian/queue/collected-event';
import { uuidV7TimeMs } from '@meridian/queue/uuid-v7';
import type { Registry } from '@meridian/registry/registry';
import { RegistryError } from '@meridian/registry/registry-error';
import type { WebsiteRoute } from '@meridian/registry/rows';

/**
 * For how long what the registry said of a website is believed; news of a change end it at once. Whoever deletes or resets a
 * website may count on its events being judged by the change after this time.
 */
export const routeLifeMs = 2_000;

const rememberedMax = 20_000;

/** Keeps out the events of deleted websites, and those collected before their website was reset. */
export type WebsiteGate = ReturnType<typeof createWebsiteGate>;

/** `now`: milliseconds of a clock that never steps. */
export function createWebsiteGate({
  registry,
  now = () => performance.now(),
}: {
  registry: Pick<Registry, 'findWebsiteRoutes'>;
  now?: () => number;
}) {
  type Answer = { route: WebsiteRoute | null; askedAt: number };
  const remembered = new Map<string, Answer>();
  /** The latest question about a website; news of a change make its answer worthless. */
  const asking = new Map<string, object>();

  const isFresh = ({ askedAt }: Answer): boolean => now() - askedAt < routeLifeMs;

  function isKnown(websiteId: string): boolean {
    const answer = remembered.get(websiteId);
    return answer !== undefined && isFresh(answer);
  }

  async function ask(websiteIds: readonly string[]): Promise<void> {
    const question = {};
    const askedAt = now();
    for (const websiteId of websiteIds) asking.set(websiteId, question);
    const isLatest = (websiteId: string): boolean => asking.get(websiteId) === question;
    try {
      const routes = await registry.findWebsiteRoutes(websiteIds);
      if (!isFresh({ route: null, askedAt })) throw new RegistryError('unavailable', 'The registry answers too slowly');
      for (const websiteId of websiteIds)
        if (isLatest(websiteId)) remembered.set(websiteId, { route: routes.get(websiteId) ?? null, askedAt });
    } finally {
      for (const websiteId of websiteIds) if (isLatest(websiteId)) asking.delete(websiteId);
    }
  }

  return {
    /**
     * The events that may be stored. Rejects when the registry does not answer, or so slowly that its answer may be outdated: nothing
     * is dropped on suspicion.
     */
    async admit(events: readonly CollectedEvent[]): Promise<CollectedEvent[]> {
      if (remembered.size > rememberedMax) remembered.clear();
      const websiteIds = [...new Set(events.map((event) => event.websiteId))];
      for (;;) {
        const unknown = websiteIds.filter((websiteId) => !isKnown(websiteId));
        if (unknown.length === 0) break;
        await ask(unknown);
      }
      return events.filter((event) => isAdmitted(event, remembered.get(event.websiteId)?.route ?? null));
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
