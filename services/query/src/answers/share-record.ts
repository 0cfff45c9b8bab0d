import { type ShareRecord, shareTypes } from '@meridian/contract/shares';
import type { Share } from '@meridian/registry/rows';

export function toShareRecord({ id, websiteId, name, slug, parameters, createdAt, updatedAt }: Share): ShareRecord {
  return {
    id,
    entityId: websiteId,
    name,
    shareType: shareTypes.website,
    slug,
    parameters,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
