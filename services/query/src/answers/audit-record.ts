import type { AuditRecord } from '@meridian/contract/audit';
import type { AuditEntry } from '@meridian/registry/rows';

export function toAuditRecord({ id, at, actor, action, subjectId, details }: AuditEntry): AuditRecord {
  return {
    id,
    createdAt: at.toISOString(),
    userId: actor.userId,
    username: actor.name,
    apiKeyId: actor.keyId,
    requestId: actor.requestId,
    action,
    subjectId,
    details,
  };
}
