import { TeamWebsitesQuery } from '@meridian/contract/teams';
import { type WebsiteList, WebsiteListQuery } from '@meridian/contract/websites';
import type { WebsiteOwners } from '@meridian/registry/rows';
import type { Context } from 'hono';
import { toWebsiteRecord } from '../answers/website-record.ts';
import { listsTeamWebsites } from '../auth/permissions.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

type ListDeps = Pick<QueryDeps, 'registry' | 'config'>;

/** The page that the query string asks for, of the websites of an account, with `includeTeams` of its teams as well. */
export async function pageOfWebsitesOfUser(deps: ListDeps, c: Context<QueryEnv>, userId: string): Promise<WebsiteList> {
  const { includeTeams, ...query } = readQuery(searchParams(c), WebsiteListQuery);
  const teams = includeTeams ? await deps.registry.listTeamsOfUser(userId) : [];
  const teamIds = teams.filter(({ role }) => listsTeamWebsites(role)).map(({ id }) => id);
  return listedPage(deps, { userId, teamIds }, query);
}

/** The page that the query string asks for, of a team's websites, or of all there are. */
export async function pageOfWebsites(deps: ListDeps, c: Context<QueryEnv>, of: WebsiteOwners): Promise<WebsiteList> {
  return listedPage(deps, of, readQuery(searchParams(c), TeamWebsitesQuery));
}

async function listedPage(
  { registry, config }: ListDeps,
  of: WebsiteOwners,
  { page, pageSize, maxResults, search, orderBy, sortDescending: descending }: Omit<WebsiteListQuery, 'includeTeams'>,
): Promise<WebsiteList> {
  const { region } = config;
  const request = { of, region, page, pageSize, maxResults, search, orderBy, descending };
  const { rows, count } = await registry.listWebsites(request);
  return { data: rows.map(toWebsiteRecord), count, page, pageSize, orderBy, search };
}
