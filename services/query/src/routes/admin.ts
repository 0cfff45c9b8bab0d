import { type UserList, UserListQuery } from '@meridian/contract/accounts';
import { Hono } from 'hono';
import { toUserRecord } from '../answers/user-record.ts';
import { requireAdministrator } from '../auth/require.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** /admin: lists over the whole instance, for its administrators. */
export function adminRoutes(deps: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().use('/admin/*', requireAdministrator(deps)).get('/admin/users', async (c) => {
    const query = readQuery(searchParams(c), UserListQuery);
    const { rows, count } = await deps.registry.listUsers(query);
    const { page, pageSize, search } = query;
    return c.json({
      data: rows.map(toUserRecord),
      count,
      page,
      pageSize,
      orderBy: 'username',
      search,
    } satisfies UserList);
  });
}
