import type { SharedWebsite } from '@meridian/contract/shares';
import type { WebsiteRecord } from '@meridian/contract/websites';
import type { Website } from '@meridian/registry/rows';

/** Of all that a website is, what a public link tells. */
export function toSharedWebsite({ id, name, domain }: Website): SharedWebsite {
  return { id, name, domain };
}

export function toWebsiteRecord(website: Website): WebsiteRecord {
  const { replayConfig, owner } = website;
  return {
    id: website.id,
    name: website.name,
    domain: website.domain,
    shareId: website.shareId,
    teamId: website.teamId,
    userId: website.userId,
    createdBy: website.createdBy,
    recorderEnabled: replayConfig.replayEnabled || replayConfig.heatmapEnabled,
    replayConfig,
    resetAt: website.resetAt?.toISOString() ?? null,
    createdAt: website.createdAt.toISOString(),
    updatedAt: website.updatedAt.toISOString(),
    deletedAt: null,
    user: { id: owner.id, username: owner.username },
  };
}
