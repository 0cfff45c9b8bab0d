import type { SegmentRecord } from '@meridian/contract/segments';
import type { Segment } from '@meridian/registry/rows';

export function toSegmentRecord({ createdAt, updatedAt, ...segment }: Segment): SegmentRecord {
  return { ...segment, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
