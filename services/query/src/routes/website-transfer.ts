import { TransferWebsiteBody } from '@meridian/contract/teams';
import type { WebsiteRecord } from '@meridian/contract/websites';
import type { WebsiteTarget } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { toWebsiteRecord } from '../answers/website-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { may } from '../auth/permissions.ts';
import { assertMayCreateInTeam, notInThisTeam } from '../auth/team-access.ts';
import { getWebsiteFor, websiteNotFound } from '../auth/website-access.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import type { Caller, QueryDeps, QueryEnv } from '../query-env.ts';

/**
 * POST /websites/{websiteId}/transfer: to a team in which the caller may create websites, or to the caller; an
 * administrator gives to anybody. Collection goes on as it was: the id and the region stay.
 */
export function websiteTransferRoutes(deps: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().post('/websites/:websiteId/transfer', async (c) => {
    const caller = c.get('caller');
    const { id } = await getWebsiteFor(deps, caller, c.req.param('websiteId'), 'transfer');
    const target = await readJson(c, TransferWebsiteBody);
    await assertMayGiveTo(deps, caller, target);
    const moved = await deps.registry.transferWebsite(id, target, actorOf(c));
    if (!moved.ok && moved.reason === 'team_not_found') throw notInThisTeam();
    if (!moved.ok && moved.reason === 'user_not_found') throw refusedValue('userId', 'User not found.');
    if (!moved.ok) throw websiteNotFound();
    return c.json(toWebsiteRecord(moved.website) satisfies WebsiteRecord);
  });
}

/** @throws ApiError 403, the same for who does not exist */
async function assertMayGiveTo(deps: QueryDeps, caller: Caller, target: WebsiteTarget): Promise<void> {
  if ('teamId' in target) return assertMayCreateInTeam(deps, caller, target.teamId);
  if (target.userId.toLowerCase() === caller.userId) return;
  if (!may(caller, 'give website to others', deps.config.mode))
    throw new ApiError('forbidden', 'You may not give websites to this account.');
}
