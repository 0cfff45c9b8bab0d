import type { Website } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Caller, QueryDeps, Reader } from '../query-env.ts';
import { mayWithWebsite, type WebsiteAction } from './permissions.ts';

type AccessDeps = Pick<QueryDeps, 'registry' | 'config'>;

/**
 * The website, if the reader may read it: an account by its rights, a share link its own one. Null without telling
 * whether it is unknown, foreign or of another region.
 */
export async function findReadableWebsite(deps: AccessDeps, reader: Reader, id: string): Promise<Website | null> {
  if (!('share' in reader)) return (await findWebsiteFor(deps, reader, id))?.website ?? null;
  return id.toLowerCase() === reader.share.websiteId ? findWebsiteHere(deps, id) : null;
}

/**
 * The website, if the reader may read it. Permission and fetch are one act, so that no route can forget the first.
 * @throws ApiError 404, the same for unknown, foreign and deleted websites
 */
export async function getReadableWebsite(deps: AccessDeps, reader: Reader, id: string): Promise<Website> {
  const website = await findReadableWebsite(deps, reader, id);
  if (!website) throw websiteNotFound();
  return website;
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
  if (!found) throw websiteNotFound();
  if (!found.may(action)) throw new ApiError('forbidden', 'You may not do this with this website.');
  return found.website;
}

export const websiteNotFound = () => new ApiError('not-found', 'Website not found');

/** Null for a website of another region, too. */
async function findWebsiteHere({ registry, config }: AccessDeps, id: string): Promise<Website | null> {
  const website = await registry.findWebsite(id);
  return website?.region === config.region ? website : null;
}

async function findWebsiteFor(deps: AccessDeps, caller: Caller, id: string) {
  const { registry, config } = deps;
  const website = await findWebsiteHere(deps, id);
  if (!website) return null;
  const teamRole = website.teamId ? await registry.findTeamRole(website.teamId, caller.userId) : null;
  const may = (action: WebsiteAction) => mayWithWebsite(caller, website, teamRole, action, config.mode);
  return may('read') ? { website, may } : null;
}
