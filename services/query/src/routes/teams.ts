import {
  type CreatedTeam,
  CreateTeamBody,
  type TeamList,
  type TeamRecord,
  UpdateTeamBody,
} from '@meridian/contract/teams';
import type { WebsiteList } from '@meridian/contract/websites';
import { randomAlphanumerics } from '@meridian/registry/credentials';
import { ApiError } from '@meridian/runtime/http/api-error';
import { type Context, Hono } from 'hono';
import { toTeamMemberRecord, toTeamRecord } from '../answers/team-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { may } from '../auth/permissions.ts';
import { getTeamFor, teamNotFound } from '../auth/team-access.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { pageOfTeams } from '../teams/page-of-teams.ts';
import { forgetWebsites } from '../websites/forget-website.ts';
import { pageOfWebsites } from '../websites/page-of-websites.ts';

/** /teams and /me/teams: the caller's teams, new ones, and what one of them is. Members: team-members.ts. */
export function teamRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const { registry } = deps;
  const list = async (c: Context<QueryEnv>) =>
    c.json((await pageOfTeams(deps, c, c.get('caller').userId)) satisfies TeamList);
  return new Hono<QueryEnv>()
    .get('/teams', list)
    .get('/me/teams', list)
    .post('/teams', async (c) => c.json((await createTeam(deps, c)) satisfies CreatedTeam))
    .get('/teams/:teamId', async (c) => {
      const access = await getTeamFor(deps, c.get('caller'), c.req.param('teamId'), 'read');
      return c.json(toTeamRecord(access.team, access.may('update')) satisfies TeamRecord);
    })
    .post('/teams/:teamId', async (c) => {
      const { team } = await getTeamFor(deps, c.get('caller'), c.req.param('teamId'), 'update');
      const { name, accessCode } = await readJson(c, UpdateTeamBody);
      const changes = { name, accessCode: accessCode === undefined ? undefined : accessCode || newAccessCode() };
      const updated = await registry.updateTeam(team.id, changes, actorOf(c));
      if (!updated.ok && updated.reason === 'access_code_taken')
        throw refusedValue('accessCode', 'That access code is already taken.');
      if (!updated.ok) throw teamNotFound();
      return c.json(toTeamRecord(updated.team, true) satisfies TeamRecord);
    })
    .delete('/teams/:teamId', async (c) => {
      const { team } = await getTeamFor(deps, c.get('caller'), c.req.param('teamId'), 'delete');
      const deleted = await registry.deleteTeam(team.id, actorOf(c));
      if (!deleted) throw teamNotFound();
      await forgetWebsites(deps, deleted.websites);
      return c.json({ ok: true });
    })
    .get('/teams/:teamId/websites', async (c) => {
      const { team } = await getTeamFor(deps, c.get('caller'), c.req.param('teamId'), 'read');
      return c.json((await pageOfWebsites(deps, c, { teamIds: [team.id] })) satisfies WebsiteList);
    });
}

async function createTeam({ registry, config }: QueryDeps, c: Context<QueryEnv>): Promise<CreatedTeam> {
  const caller = c.get('caller');
  if (!may(caller, 'create team', config.mode)) throw new ApiError('forbidden', 'You may not create teams.');
  const { name, ownerId: wanted } = await readJson(c, CreateTeamBody);
  const ownerId = wanted?.toLowerCase() || caller.userId;
  if (ownerId !== caller.userId && !may(caller, 'create team for others', config.mode))
    throw new ApiError('forbidden', 'You may not create teams for this account.');
  const created = await registry.createTeam({ name, accessCode: newAccessCode(), ownerId }, actorOf(c));
  if (!created.ok && created.reason === 'user_not_found') {
    if (ownerId === caller.userId) throw new ApiError('unauthorized', 'Unauthorized');
    throw refusedValue('ownerId', 'User not found.');
  }
  if (!created.ok) throw new Error('A new access code was taken');
  return [toTeamRecord(created.team, true), toTeamMemberRecord(created.owner)];
}

/** `team_` and 32 random letters and digits, about 190 bits. */
function newAccessCode(): string {
  return `team_${randomAlphanumerics(32)}`;
}
