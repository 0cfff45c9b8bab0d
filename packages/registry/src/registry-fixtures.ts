import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { migrate } from './migrate.ts';
import { createRegistry } from './registry.ts';
import type { Actor, NewUser, NewWebsite, TeamRole, User, Website } from './rows.ts';

/** Who changes something in tests where it does not matter. */
export const testActor: Actor = { userId: null, name: 'test', keyId: null, requestId: null };

/** For tests: a registry on an empty `database`, which it migrates, and short ways to fill it. */
export async function createTestRegistry(database: { url: string; drop(): Promise<void> }) {
  await migrate(database.url);
  // Tests share their machine with each other, so waiting is no failure.
  const registry = createRegistry(database.url, { timeoutMs: 30_000 });
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });

  const sql = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await pool.query(text, values)).rows;

  const newUser = async (fields: Partial<NewUser> = {}): Promise<User> => {
    const username = `user-${randomBytes(4).toString('hex')}`;
    const defaults = { username, passwordHash: 'hash', role: 'user', homeRegion: 'us' } as const;
    const created = await registry.createUser({ ...defaults, ...fields }, testActor);
    if (!created.ok) throw new Error(created.reason);
    return created.user;
  };

  const newWebsite = async (owner: User, fields: Partial<NewWebsite> = {}): Promise<Website> => {
    const userId = fields.teamId ? null : owner.id;
    const defaults = { name: 'Shop', domain: 'shop.example', userId, createdBy: owner.id, region: 'us' };
    const created = await registry.createWebsite({ ...defaults, ...fields }, testActor);
    if (!created.ok) throw new Error(created.reason);
    return created.website;
  };

  const newTeam = async (members: [Pick<User, 'id'>, TeamRole][], name = 'Team'): Promise<string> => {
    const code = randomBytes(8).toString('hex');
    const [row] = await sql('INSERT INTO team (name, access_code) VALUES ($1, $2) RETURNING id', [name, code]);
    for (const [user, role] of members)
      await sql('INSERT INTO team_user (team_id, user_id, role) VALUES ($1, $2, $3)', [row?.id, user.id, role]);
    return String(row?.id);
  };

  const close = async (): Promise<void> => {
    await registry.close();
    await pool.end();
    await database.drop();
  };
  return { registry, url: database.url, sql, newUser, newWebsite, newTeam, close };
}
