import { CreateUserBody, UpdateUserBody, type UserRecord } from '@meridian/contract/accounts';
import { hashPassword } from '@meridian/registry/credentials';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { toUserRecord } from '../answers/user-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { requireAdministrator, requireSession } from '../auth/require.ts';
import { conflict } from '../http/conflict.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { forgetWebsite } from '../websites/forget-website.ts';

const notFound = () => new ApiError('not-found', 'User not found');

/** /users: accounts, managed by an administrator who logged in. */
export function userRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const { registry, config } = deps;
  const allowed = [requireSession, requireAdministrator(deps)] as const;
  return new Hono<QueryEnv>()
    .post('/users', ...allowed, async (c) => {
      const { id, username, password, role } = await readJson(c, CreateUserBody);
      const passwordHash = await hashPassword(password);
      const user = { id: id ?? undefined, username, passwordHash, role, homeRegion: config.region };
      const created = await registry.createUser(user, actorOf(c));
      if (!created.ok && created.reason === 'user_id_taken') throw conflict('id', 'User ID already in use.');
      if (!created.ok) throw conflict('username', 'User already exists.');
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
      // So that an instance never loses its last administrator.
      if (userId === c.get('caller').userId && role && role !== 'admin')
        throw conflict('role', 'You cannot take away your own role.');
      const passwordHash = password === undefined ? undefined : await hashPassword(password);
      const updated = await registry.updateUser(userId, { username, role, passwordHash }, actorOf(c));
      if (!updated.ok && updated.reason === 'username_taken') throw conflict('username', 'User already exists.');
      if (!updated.ok) throw notFound();
      return c.json(toUserRecord(updated.user) satisfies UserRecord);
    })
    .delete('/users/:userId', ...allowed, async (c) => {
      const userId = c.req.param('userId').toLowerCase();
      if (userId === c.get('caller').userId) throw conflict('userId', 'You cannot delete yourself.');
      const deleted = await registry.deleteUser(userId, actorOf(c));
      if (!deleted) throw notFound();
      for (const websiteId of deleted.websiteIds) await forgetWebsite(deps, websiteId);
      return c.json({ ok: true });
    });
}
