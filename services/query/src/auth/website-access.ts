import type { Website } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Caller, QueryDeps } from '../query-env.ts';
import { mayDo, type WebsiteAction } from './permissions.ts';

type AccessDeps = Pick<QueryDeps, 'registry' | 'config'>;

/** The website, if the caller may read it; null without telling whether it is unknown, foreign or of another region. */
export async function findReadableWebsite(deps: AccessDeps, caller: Caller, id: string): Promise<Website | null> {
  return (await findWebsiteFor(deps, caller, id))?.website ?? null;
}

/**
 * The website, if the caller may read it. Permission and fetch are one act, so that no route can forget the first.
 * @throws ApiError 404, the same for unknown, foreign and deleted websites
 */
export async function getReadableWebsite(deps: AccessDeps, caller: Caller, id: string): Promise<Website> {
  return getWebsiteFor(deps, caller, id, 'read');
}

/**
 * The website, if the caller may do `action` with it.
 * @throws ApiError 404 when the caller may not even read it, 403 when it may read it only
 */
export async function getWebsiteFor(
  deps: AccessDeps,
  caller: Caller,
  id: string,
  action: WebsiteAction,
): Promise<Website> {
  const found = await findWebsiteFor(deps, caller, id);
  if (!found) throw new ApiError('not-found', 'Website not found');
  if (!found.may(action)) throw new ApiError('forbidden', 'You may not do this with this website.');
  return found.website;
}

async function findWebsiteFor({ registry, config }: AccessDeps, caller: Caller, id: string) {
  const website = await registry.findWebsite(id);
  if (website?.region !== config.region) return null;
  const teamRole = website.teamId ? await registry.findTeamRole(website.teamId, caller.userId) : null;
  const may = (action: WebsiteAction) => mayDo(caller, website, teamRole, action, config.mode);
  return may('read') ? { website, may } : null;
}
