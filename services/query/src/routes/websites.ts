import { CreateWebsiteBody, type WebsiteList, WebsiteListQuery, type WebsiteRecord } from '@meridian/contract/websites';
import { ApiError } from '@meridian/runtime/http/api-error';
import { type Context, Hono } from 'hono';
import { toWebsiteRecord } from '../answers/website-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { listsTeamWebsites, mayCreate, mayCreateInTeam } from '../auth/permissions.ts';
import { conflict } from '../http/conflict.ts';
import { readJson } from '../http/read-json.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { Caller, QueryDeps, QueryEnv } from '../query-env.ts';
import { announceWebsite } from '../websites/announce-website.ts';

/** GET /websites and /me/websites: the caller's websites. POST /websites: a new one. */
export function websitesRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const list = async (c: Context<QueryEnv>) => c.json(await listWebsites(deps, c));
  return new Hono<QueryEnv>()
    .get('/websites', list)
    .get('/me/websites', list)
    .post('/websites', async (c) => c.json((await createWebsite(deps, c)) satisfies WebsiteRecord));
}

async function listWebsites({ registry, config }: QueryDeps, c: Context<QueryEnv>): Promise<WebsiteList> {
  const { userId } = c.get('caller');
  const { page, pageSize, maxResults, search, orderBy, sortDescending, includeTeams } = readQuery(
    searchParams(c),
    WebsiteListQuery,
  );
  const teams = includeTeams ? await registry.listTeamsOfUser(userId) : [];
  const { rows, count } = await registry.listWebsites({
    userId,
    teamIds: teams.filter((team) => listsTeamWebsites(team.role)).map((team) => team.id),
    region: config.region,
    page,
    pageSize,
    maxResults,
    search,
    orderBy,
    descending: sortDescending,
  });
  return { data: rows.map(toWebsiteRecord), count, page, pageSize, orderBy, search };
}

async function createWebsite(deps: QueryDeps, c: Context<QueryEnv>): Promise<WebsiteRecord> {
  const caller = c.get('caller');
  if (!mayCreate(caller)) throw new ApiError('forbidden', 'You may not create websites.');
  const { id, name, domain, shareId, teamId } = await readJson(c, CreateWebsiteBody);
  if (typeof teamId === 'string') await assertMayCreateInTeam(deps, caller, teamId);
  const created = await deps.registry.createWebsite(
    {
      id: id ?? undefined,
      name,
      domain,
      shareId: shareId ?? null,
      teamId: teamId ?? null,
      userId: typeof teamId === 'string' ? null : caller.userId,
      createdBy: caller.userId,
      region: deps.config.region,
    },
    actorOf(c),
  );
  if (!created.ok) throw creationError(created.reason);
  await announceWebsite(deps, created.website.id);
  return toWebsiteRecord(created.website);
}

async function assertMayCreateInTeam({ registry, config }: QueryDeps, caller: Caller, teamId: string): Promise<void> {
  const teamRole = await registry.findTeamRole(teamId, caller.userId);
  if (!mayCreateInTeam(caller, teamRole, config.mode)) throw creationError('team_not_found');
}

/** A team that does not exist and one in which the caller may not create answer the same. */
function creationError(reason: 'website_id_taken' | 'share_id_taken' | 'team_not_found'): ApiError {
  if (reason === 'website_id_taken') return conflict('id', 'Website ID already in use.');
  if (reason === 'share_id_taken') return conflict('shareId', 'That share ID is already taken.');
  return new ApiError('forbidden', 'You may not create websites in this team.');
}
