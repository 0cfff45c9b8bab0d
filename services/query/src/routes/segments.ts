import { SegmentBody, type SegmentList, SegmentListQuery, type SegmentRecord } from '@meridian/contract/segments';
import { ApiError } from '@meridian/runtime/http/api-error';
import { type Context, Hono } from 'hono';
import { toSegmentRecord } from '../answers/segment-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import type { WebsiteAction } from '../auth/permissions.ts';
import { getWebsiteFor, websiteNotFound } from '../auth/website-access.ts';
import { readJson } from '../http/read-json.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryEnv } from '../query-env.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';
import { refuseInvalidExpressions } from '../statistics/invalid-expression.ts';
import { expressionsInParameters } from '../statistics/parse-filters.ts';

const all = '/websites/:websiteId/segments';
const one = `${all}/:segmentId` as const;

/**
 * /websites/{websiteId}/segments: segments and cohorts. Who may read the website reads them, who may update it writes
 * them. `listing`: with the turns of lists.
 */
export function segmentRoutes(deps: AskingDeps, listing: AskingDeps): Hono<QueryEnv> {
  const { registry } = deps;
  const websiteFor = async (c: Context<QueryEnv>, action: WebsiteAction) =>
    (await getWebsiteFor(deps, c.get('caller'), c.req.param('websiteId') ?? '', action)).id;
  const readFields = async (c: Context<QueryEnv>) => {
    const fields = await readJson(c, SegmentBody);
    const expressions = expressionsInParameters(fields.parameters);
    if (expressions.length > 0) await askInTurn(deps, c, () => refuseInvalidExpressions(deps, c, expressions));
    return fields;
  };
  return new Hono<QueryEnv>()
    .get(all, async (c) => {
      const websiteId = await websiteFor(c, 'read');
      const query = readQuery(searchParams(c), SegmentListQuery);
      const { rows, count } = await askInTurn(listing, c, () => registry.listSegments({ ...query, websiteId }));
      const { page, pageSize, search } = query;
      return c.json({
        data: rows.map(toSegmentRecord),
        ...{ count, page, pageSize, orderBy: 'name', search },
      } satisfies SegmentList);
    })
    .post(all, async (c) => {
      const websiteId = await websiteFor(c, 'update');
      const fields = await readFields(c);
      const created = await registry.createSegment(websiteId, fields, actorOf(c));
      if (!created) throw websiteNotFound();
      return c.json(toSegmentRecord(created) satisfies SegmentRecord);
    })
    .get(one, async (c) => {
      const websiteId = await websiteFor(c, 'read');
      const found = await registry.findSegment(websiteId, c.req.param('segmentId'));
      return c.json(toSegmentRecord(known(found)) satisfies SegmentRecord);
    })
    .post(one, async (c) => {
      const websiteId = await websiteFor(c, 'update');
      const fields = await readFields(c);
      const updated = await registry.updateSegment(websiteId, c.req.param('segmentId'), fields, actorOf(c));
      return c.json(toSegmentRecord(known(updated)) satisfies SegmentRecord);
    })
    .delete(one, async (c) => {
      const websiteId = await websiteFor(c, 'update');
      if (!(await registry.deleteSegment(websiteId, c.req.param('segmentId'), actorOf(c)))) throw notFound();
      return c.json({ ok: true });
    });
}

const notFound = () => new ApiError('not-found', 'Segment not found');

function known<Value>(value: Value | null): Value {
  if (value === null) throw notFound();
  return value;
}
