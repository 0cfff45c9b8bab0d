import { type UserList, UserListQuery } from '@meridian/contract/accounts';
import type { TeamList } from '@meridian/contract/teams';
import type { WebsiteList } from '@meridian/contract/websites';
import { Hono } from 'hono';
import { toUserRecord } from '../answers/user-record.ts';
import { requireAdministrator } from '../auth/require.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { pageOfTeams } from '../teams/page-of-teams.ts';
import { pageOfWebsites } from '../websites/page-of-websites.ts';

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
    .get('/admin/teams', async (c) => c.json((await pageOfTeams(deps, c, null)) satisfies TeamList))
    .get('/admin/websites', async (c) => c.json((await pageOfWebsites(deps, c, 'everybody')) satisfies WebsiteList));
}
