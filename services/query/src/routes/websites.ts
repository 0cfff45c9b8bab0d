import { CreateWebsiteBody, type WebsiteList, type WebsiteRecord } from '@meridian/contract/websites';
import { ApiError } from '@meridian/runtime/http/api-error';
import { type Context, Hono } from 'hono';
import { toWebsiteRecord } from '../answers/website-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { may } from '../auth/permissions.ts';
import { assertMayCreateInTeam, notInThisTeam } from '../auth/team-access.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { announceWebsite } from '../websites/announce-website.ts';
import { pageOfWebsitesOfUser } from '../websites/page-of-websites.ts';

/** GET /websites and /me/websites: the caller's websites. POST /websites: a new one. */
export function websitesRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const list = async (c: Context<QueryEnv>) =>
    c.json((await pageOfWebsitesOfUser(deps, c, c.get('caller').userId)) satisfies WebsiteList);
  return new Hono<QueryEnv>()
    .get('/websites', list)
    .get('/me/websites', list)
    .post('/websites', async (c) => c.json((await createWebsite(deps, c)) satisfies WebsiteRecord));
}

async function createWebsite(deps: QueryDeps, c: Context<QueryEnv>): Promise<WebsiteRecord> {
  const caller = c.get('caller');
  if (!may(caller, 'create website', deps.config.mode)) throw new ApiError('forbidden', 'You may not create websites.');
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

function creationError(reason: 'website_id_taken' | 'share_id_taken' | 'team_not_found' | 'user_not_found'): ApiError {
  if (reason === 'website_id_taken') return refusedValue('id', 'Website ID already in use.');
  if (reason === 'share_id_taken') return refusedValue('shareId', 'That share ID is already taken.');
  if (reason === 'user_not_found') return new ApiError('unauthorized', 'Unauthorized');
  return notInThisTeam();
}
