import { type UserList, UserListQuery } from '@meridian/contract/accounts';
import type { TeamList } from '@meridian/contract/teams';
import type { WebsiteList } from '@meridian/contract/websites';
import { Hono } from 'hono';
import { listTeams } from '../answers/team-list.ts';
import { toUserRecord } from '../answers/user-record.ts';
import { listWebsites } from '../answers/website-list.ts';
import { requireAdministrator } from '../auth/require.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** /admin: lists over the whole instance, for its administrators. */
export function adminRoutes(deps: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>()
    .use('/admin/*', requireAdministrator(deps, 'list everything'))
    .get('/admin/users', async (c) => {
      const query = readQuery(searchParams(c), UserListQuery);
      const { rows, count } = await deps.registry.listUsers(query);
      const { page, pageSize, search } = query;
      const data = rows.map(toUserRecord);
      return c.json({ data, count, page, pageSize, orderBy: 'username', search } satisfies UserList);
    })
    .get('/admin/teams', async (c) => c.json((await listTeams(deps, c, null)) satisfies TeamList))
    .get('/admin/websites', async (c) => c.json((await listWebsites(deps, c, 'everybody')) satisfies WebsiteList));
}
