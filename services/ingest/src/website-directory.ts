import type { WebsiteStatus } from '@meridian/registry/rows';
import { Lru } from '@meridian/runtime/lru';

/** A website that takes events. */
export type KnownWebsite = { region: string };

/**
 * Which websites take events, answered from memory. A known website is asked about again in the background once a
 * minute, so no event waits for that, and collection goes on while the registry is away; changes arrive by `forget`.
 */
export type WebsiteDirectory = {
  /**
   * Null for an unknown or deleted website. Only the first event of a website waits; rejects when the registry is away.
   */
  find(websiteId: string): KnownWebsite | null | Promise<KnownWebsite | null>;
  forget(websiteId: string): void;
  /** News may have been missed: every known website is asked about again when its next event comes. */
  doubtAll(): void;
};

type Entry = { website: KnownWebsite; refreshAtMs: number; doubts: number };

const rememberedWebsites = 50_000;
const rememberedUnknown = 10_000;
const refreshAfterMs = 60_000;
const refreshRetryMs = 5_000;
/** Short, so that a website that is created now takes events now, even if the news of it is lost. */
const unknownLifeMs = 1_000;
/** More are refused, so that made-up ids cannot pile up while the registry is slow: each takes about a KB. */
const lookupsMax = 50_000;
/** Of one question to the registry. */
const idsMax = 1_000;

/** A lookup that the next question asks. */
type OpenLookup = {
  websiteId: string;
  resolve: (status: WebsiteStatus | undefined) => void;
  reject: (error: unknown) => void;
};

export function createWebsiteDirectory(options: {
  /** See `Registry`. What is looked up in one turn of the event loop is asked in one question, 1,000 at most. */
  findWebsiteStatuses(websiteIds: readonly string[]): Promise<ReadonlyMap<string, WebsiteStatus>>;
  /** Hears of every question that failed, also those that no event waited for, and of lookups that were refused. */
  reportOutage: (error: unknown) => void;
  /** Unix ms. */
  now?: () => number;
}): WebsiteDirectory {
  const { findWebsiteStatuses, reportOutage, now = Date.now } = options;
  const known = new Lru<string, Entry>(rememberedWebsites);
  const unknownUntilMs = new Lru<string, number>(rememberedUnknown);
  const lookups = new Map<string, Promise<KnownWebsite | null>>();
  let open: OpenLookup[] = [];
  let doubts = 0;

  function lookUp(websiteId: string): Promise<KnownWebsite | null> {
    const running = lookups.get(websiteId);
    if (running) return running;
    const lookup = ask(websiteId)
      .then((status) => {
        const website = status && !status.deleted ? { region: status.region } : null;
        // What was asked before the website changed is not remembered.
        if (lookups.get(websiteId) === lookup) remember(websiteId, website);
        return website;
      })
      .finally(() => {
        if (lookups.get(websiteId) === lookup) lookups.delete(websiteId);
      });
    lookups.set(websiteId, lookup);
    return lookup;
  }

  function ask(websiteId: string): Promise<WebsiteStatus | undefined> {
    if (lookups.size >= lookupsMax) {
      const error = new Error('Too many websites are being looked up');
      reportOutage(error);
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      if (open.length === 0) setImmediate(askOpen);
      open.push({ websiteId, resolve, reject });
    });
  }

  function askOpen(): void {
    const together = open;
    open = [];
    for (let i = 0; i < together.length; i += idsMax) void answer(together.slice(i, i + idsMax));
  }

  async function answer(asked: readonly OpenLookup[]): Promise<void> {
    try {
      const statuses = await findWebsiteStatuses(asked.map(({ websiteId }) => websiteId));
      for (const { websiteId, resolve } of asked) resolve(statuses.get(websiteId));
    } catch (error) {
      reportOutage(error);
      for (const { reject } of asked) reject(error);
    }
  }

  function remember(websiteId: string, website: KnownWebsite | null): void {
    if (website) {
      known.set(websiteId, { website, refreshAtMs: now() + refreshAfterMs, doubts });
      return;
    }
    known.delete(websiteId);
    unknownUntilMs.set(websiteId, now() + unknownLifeMs);
  }

  return {
    find(websiteId) {
      const entry = known.get(websiteId);
      if (!entry) {
        const untilMs = unknownUntilMs.get(websiteId);
        return untilMs !== undefined && now() < untilMs ? null : lookUp(websiteId);
      }
      if (now() >= entry.refreshAtMs || entry.doubts !== doubts) {
        entry.refreshAtMs = now() + refreshRetryMs;
        entry.doubts = doubts;
        // A registry that is away changes nothing: the entry stays and is tried again.
        lookUp(websiteId).catch(() => {});
      }
      return entry.website;
    },
    forget(websiteId) {
      known.delete(websiteId);
      unknownUntilMs.delete(websiteId);
      lookups.delete(websiteId);
    },
    doubtAll() {
      doubts++;
      lookups.clear();
    },
  };
}
