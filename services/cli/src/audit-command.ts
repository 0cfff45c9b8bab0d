import type { AuditRecord } from '@meridian/contract/audit';
import type { Registry } from '@meridian/registry/registry';
import type { AuditEntry, AuditRequest } from '@meridian/registry/rows';
import { parseLimit, parseOptions, parseWebsiteId } from './arguments.ts';
import { type Print, shorten, toPrintableJson, toTable } from './print.ts';

const detailsMax = 120;

/** `meridian audit …`: who changed what, newest first; gives the exit code. */
export async function runAudit(
  registry: Pick<Registry, 'listAuditEntries' | 'findUserByUsername'>,
  args: string[],
  print: Print,
): Promise<number> {
  const given = parseOptions(args, ['website', 'user', 'action', 'limit'], ['json']);
  const pageSize = parseLimit(given.limit);
  const subjectId = given.website === undefined ? undefined : parseWebsiteId(given.website);
  const actor = given.user === undefined ? {} : await actorNamed(registry, given.user);
  const request = { page: 1, pageSize, subjectId, action: given.action, ...actor };
  const { rows, count } = await registry.listAuditEntries(request);
  if (given.json) {
    print(toPrintableJson(rows.map(toRecord)));
    return 0;
  }
  const lines = rows.map(({ at, actor, action, subjectId, details }) => [
    at.toISOString(),
    actor.name,
    action,
    subjectId,
    shorten(JSON.stringify(details), detailsMax),
  ]);
  for (const line of toTable([['TIME', 'BY', 'ACTION', 'OF', 'DETAILS'], ...lines])) print(line);
  print(count > rows.length ? `${rows.length} of ${count} changes` : `${count} changes`);
  return 0;
}

/** An account under all the names that it had; else whoever was called so: the operator, a deleted account. */
async function actorNamed(
  registry: Pick<Registry, 'findUserByUsername'>,
  name: string,
): Promise<Pick<AuditRequest, 'actorUserId' | 'actorName'>> {
  const user = await registry.findUserByUsername(name);
  return user ? { actorUserId: user.id } : { actorName: name };
}

/** As the API shows it. */
function toRecord({ id, at, actor, action, subjectId, details }: AuditEntry): AuditRecord {
  const { userId, name: username, keyId: apiKeyId, requestId } = actor;
  return { id, createdAt: at.toISOString(), userId, username, apiKeyId, requestId, action, subjectId, details };
}
