import { CreateUserBody, UpdateUserBody, type UserRecord } from '@meridian/contract/accounts';
import type { TeamList } from '@meridian/contract/teams';
import type { WebsiteList } from '@meridian/contract/websites';
import { hashPassword } from '@meridian/registry/credentials';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { toUserRecord } from '../answers/user-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { requireAdministrator, requireSession } from '../auth/require.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { pageOfTeams } from '../teams/page-of-teams.ts';
import { forgetWebsites } from '../websites/forget-website.ts';
import { pageOfWebsitesOfUser } from '../websites/page-of-websites.ts';

const lastAdministrator = 'There must be an administrator left.';
const notFound = () => new ApiError('not-found', 'User not found');

const onlyOwnerOf = (teamIds: string[]) =>
  `The user is the only owner of ${teamIds.join(', ')}: give the team another owner or delete it first.`;

/** /users: accounts with their websites and teams, managed by an administrator who logged in. */
export function userRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const { registry, config } = deps;
  const allowed = [requireSession, requireAdministrator(deps, 'manage users')] as const;
  const knownUserId = async (id: string): Promise<string> => {
    const user = await registry.findUserById(id);
    if (!user) throw notFound();
    return user.id;
  };
  return new Hono<QueryEnv>()
    .post('/users', ...allowed, async (c) => {
      const { id, username, password, role } = await readJson(c, CreateUserBody);
      const passwordHash = await hashPassword(password);
      const user = { id: id ?? undefined, username, passwordHash, role, homeRegion: config.region };
      const created = await registry.createUser(user, actorOf(c));
      if (!created.ok && created.reason === 'user_id_taken') throw refusedValue('id', 'User ID already in use.');
      if (!created.ok) throw refusedValue('username', 'User already exists.');
      return c.json(toUserRecord(created.user) satisfies UserRecord);
    })
    .get('/users/:userId', ...allowed, async (c) => {
      const user = await registry.findUserById(c.req.param('userId'));
      if (!user) throw notFound();
      return c.json(toUserRecord(user) satisfies UserRecord);
    })
    .post('/users/:userId', ...allowed, async (c) => {
      const userId = c.req.param('userId').toLowerCase();
      const { username, role, password } = await readJson(c, UpdateUserBody);
      if (userId === c.get('caller').userId && role && role !== 'admin')
        throw refusedValue('role', 'You cannot take away your own role.');
      const passwordHash = password === undefined ? undefined : await hashPassword(password);
      const updated = await registry.updateUser(userId, { username, role, passwordHash }, actorOf(c));
      if (!updated.ok && updated.reason === 'last_administrator') throw refusedValue('role', lastAdministrator);
      if (!updated.ok && updated.reason === 'username_taken') throw refusedValue('username', 'User already exists.');
      if (!updated.ok) throw notFound();
      return c.json(toUserRecord(updated.user) satisfies UserRecord);
    })
    .delete('/users/:userId', ...allowed, async (c) => {
      const userId = c.req.param('userId').toLowerCase();
      if (userId === c.get('caller').userId) throw refusedValue('userId', 'You cannot delete yourself.');
      const deleted = await registry.deleteUser(userId, actorOf(c));
      if (!deleted.ok && deleted.reason === 'last_administrator') throw refusedValue('userId', lastAdministrator);
      if (!deleted.ok && deleted.reason === 'last_owner') throw refusedValue('userId', onlyOwnerOf(deleted.teamIds));
      if (!deleted.ok) throw notFound();
      await forgetWebsites(deps, deleted.websites);
      return c.json({ ok: true });
    })
    .get('/users/:userId/websites', ...allowed, async (c) =>
      c.json((await pageOfWebsitesOfUser(deps, c, await knownUserId(c.req.param('userId')))) satisfies WebsiteList),
    )
    .get('/users/:userId/teams', ...allowed, async (c) =>
      c.json((await pageOfTeams(deps, c, await knownUserId(c.req.param('userId')))) satisfies TeamList),
    );
}
