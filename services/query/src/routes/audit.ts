import { type AuditList, AuditListQuery } from '@meridian/contract/audit';
import { Hono } from 'hono';
import { toAuditRecord } from '../answers/audit-record.ts';
import { requireAdministrator } from '../auth/require.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** GET /admin/audit: who changed what, newest first; for administrators. */
export function auditRoutes(deps: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/admin/audit', requireAdministrator(deps), async (c) => {
    const { userId, startAt, endAt, ...query } = readQuery(searchParams(c), AuditListQuery);
    if (startAt && endAt && startAt > endAt) throw refusedValue('startAt', 'The range starts after its end.');
    const to = endAt && new Date(endAt.getTime() + 1);
    const { rows, count } = await deps.registry.listAuditEntries({ ...query, actorUserId: userId, from: startAt, to });
    const { page, pageSize, search } = query;
    const data = rows.map(toAuditRecord);
    return c.json({ data, count, page, pageSize, orderBy: 'createdAt', search } satisfies AuditList);
  });
}
