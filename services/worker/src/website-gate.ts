import type { EventRows } from '@meridian/queue/batch-rows';
import type { Registry } from '@meridian/registry/registry';
import { RegistryError } from '@meridian/registry/registry-error';
import type { WebsiteStatus } from '@meridian/registry/rows';
import { collectedAtMsOf } from '@meridian/warehouse/event-row';

/**
 * For how long what the registry said of a website is believed; news of a change end it at once. Whoever deletes or
 * resets a website may count on its events being judged by the change after this time.
 */
export const statusLifeMs = 2_000;

const rememberedMax = 20_000;

/** Rows by their numbers. `removed`: what must not be stored, website by website. */
export type Judgement = {
  /** In order. */
  admitted: number[];
  /** `before`: when the website was reset; none where it was deleted. */
  removed: { numbers: number[]; before?: Date }[];
};

/** Keeps out the events of deleted websites, and those collected before their website was reset. */
export type WebsiteGate = ReturnType<typeof createWebsiteGate>;

/** `now`: milliseconds of a clock that never steps. */
export function createWebsiteGate({
  registry,
  now = () => performance.now(),
}: {
  registry: Pick<Registry, 'findWebsiteStatuses'>;
  now?: () => number;
}) {
  type Answer = { status: WebsiteStatus | null; askedAt: number };
  const remembered = new Map<string, Answer>();
  /** The questions under way: of which websites their answers count. News of a change end that. */
  const questions = new Set<Set<string>>();

  const isFresh = ({ askedAt }: Answer): boolean => now() - askedAt < statusLifeMs;

  function isKnown(websiteId: string): boolean {
    const answer = remembered.get(websiteId);
    return answer !== undefined && isFresh(answer);
  }

  async function ask(websiteIds: readonly string[]): Promise<void> {
    const question = new Set(websiteIds);
    const askedAt = now();
    questions.add(question);
    try {
      const statuses = await registry.findWebsiteStatuses(websiteIds);
      if (!isFresh({ status: null, askedAt }))
        throw new RegistryError('unavailable', 'The registry answers too slowly');
      for (const websiteId of question) remembered.set(websiteId, { status: statuses.get(websiteId) ?? null, askedAt });
    } finally {
      questions.delete(question);
    }
  }

  return {
    /**
     * Tells which rows may be stored. Rejects when the registry does not answer, or so slowly
     * that its answer may be outdated: nothing is dropped on suspicion.
     */
    async admit({ count, bytes, starts, websiteIds, websites }: EventRows): Promise<Judgement> {
      if (remembered.size > rememberedMax) remembered.clear();
      let unknown: readonly string[] = websiteIds.filter((websiteId) => !isKnown(websiteId));
      while (unknown.length > 0) {
        await ask(unknown);
        // All at once: one by one their times would run out in turns as long as the registry is slow.
        unknown = websiteIds.every(isKnown) ? [] : websiteIds;
      }
      const since = websiteIds.map((websiteId) => admittedSinceMs(remembered.get(websiteId)?.status ?? null));
      const admitted: number[] = [];
      const removed = new Map<number, Judgement['removed'][number]>();
      for (let row = 0; row < count; row++) {
        const website = websites[row] ?? 0;
        const sinceMs = since[website] ?? Number.POSITIVE_INFINITY;
        // Most websites were never reset.
        if (sinceMs === 0 || collectedAtMsOf(bytes, starts[row] ?? 0) >= sinceMs) {
          admitted.push(row);
          continue;
        }
        const ofWebsite = removed.get(website) ?? {
          numbers: [],
          ...(Number.isFinite(sinceMs) && { before: new Date(sinceMs) }),
        };
        ofWebsite.numbers.push(row);
        removed.set(website, ofWebsite);
      }
      return { admitted, removed: [...removed.values()] };
    },

    /** To be called on news of a change. */
    forget(websiteId: string): void {
      remembered.delete(websiteId);
      for (const question of questions) question.delete(websiteId);
    },
  };
}

/**
 * From which time of collection on a website's events are stored. No status: the website was removed from the registry
 * by hand, with all that was its own.
 */
function admittedSinceMs(status: WebsiteStatus | null): number {
  if (!status || status.deleted) return Number.POSITIVE_INFINITY;
  return status.resetAt?.getTime() ?? 0;
}
