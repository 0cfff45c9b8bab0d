import {
  CreateShareBody,
  CreateWebsiteShareBody,
  type ResolvedShare,
  type ShareList,
  ShareListQuery,
  type ShareRecord,
  ShareSlug,
  shareTypes,
  UpdateShareBody,
} from '@meridian/contract/shares';
import { randomAlphanumerics } from '@meridian/registry/credentials';
import type { Share } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import { type Context, Hono } from 'hono';
import type { z } from 'zod';
import { toShareRecord } from '../answers/share-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import type { WebsiteAction } from '../auth/permissions.ts';
import { createShareTokens } from '../auth/share-token.ts';
import { findReadableWebsite, getWebsiteFor, websiteNotFound } from '../auth/website-access.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { createServeAtHome } from '../regions/serving-region.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';

const slugLength = 16;
const ofWebsite = '/websites/:websiteId/shares';
const one = '/share/id/:shareId';

const notFound = () => new ApiError('not-found', 'Share not found');
const taken = () => refusedValue('slug', 'That share ID is already taken.');

/** GET /share/{slug}: what a public link leads to. Needs no credential: who knows the slug may read. */
export function publicShareRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const { registry, config, now } = deps;
  const tokens = createShareTokens(config.appSecret);
  const serveAtHome = createServeAtHome(deps);
  return new Hono<QueryEnv>().get('/share/:slug', async (c) => {
    const slug = ShareSlug.safeParse(c.req.param('slug'));
    const share = slug.success ? await registry.findShareBySlug(slug.data) : null;
    const website = share && (await registry.findWebsite(share.websiteId));
    if (!website) throw notFound();
    const answer = await serveAtHome(c, website.region, true);
    if (answer) return answer;
    if (website.region !== config.region) throw notFound();
    const { id: shareId, websiteId, parameters } = share;
    const token = await tokens.issue(share, now());
    return c.json({ shareId, shareType: shareTypes.website, parameters, websiteId, token } satisfies ResolvedShare);
  });
}

/** A website's public links: who may read the website reads them, who may update it makes, changes and ends them. */
export function shareRoutes(deps: AskingDeps): Hono<QueryEnv> {
  const { registry } = deps;

  async function create(
    c: Context<QueryEnv>,
    websiteId: string,
    { name, slug, parameters }: z.output<typeof CreateWebsiteShareBody>,
  ): Promise<ShareRecord> {
    const fields = { name, slug: slug ?? randomAlphanumerics(slugLength), parameters };
    const created = await registry.createShare(websiteId, fields, actorOf(c));
    if (!created.ok && created.reason === 'share_id_taken') throw taken();
    if (!created.ok) throw websiteNotFound();
    return toShareRecord(created.share);
  }

  /**
   * 404 for an unknown link as for one of a website that the caller may not read, 403 for one that it may read only.
   */
  async function shareFor(c: Context<QueryEnv>, action: WebsiteAction): Promise<Share> {
    const share = await registry.findShare(c.req.param('shareId') ?? '');
    if (!share || !(await findReadableWebsite(deps, c.get('caller'), share.websiteId))) throw notFound();
    await getWebsiteFor(deps, c.get('caller'), share.websiteId, action);
    return share;
  }

  return new Hono<QueryEnv>()
    .get(ofWebsite, async (c) => {
      const { id: websiteId } = await getWebsiteFor(deps, c.get('caller'), c.req.param('websiteId'), 'read');
      const query = readQuery(searchParams(c), ShareListQuery);
      const { rows, count } = await askInTurn(deps, c, () => registry.listShares({ ...query, websiteId }));
      const { page, pageSize, search } = query;
      const data = rows.map(toShareRecord);
      return c.json({ data, count, page, pageSize, orderBy: 'createdAt', search } satisfies ShareList);
    })
    .post(ofWebsite, async (c) => {
      const { id } = await getWebsiteFor(deps, c.get('caller'), c.req.param('websiteId'), 'update');
      return c.json(await create(c, id, await readJson(c, CreateWebsiteShareBody)));
    })
    .post('/share', async (c) => {
      const { entityId, ...fields } = await readJson(c, CreateShareBody);
      const { id } = await getWebsiteFor(deps, c.get('caller'), entityId, 'update');
      return c.json(await create(c, id, fields));
    })
    .get(one, async (c) => c.json(toShareRecord(await shareFor(c, 'read')) satisfies ShareRecord))
    .post(one, async (c) => {
      const { id, websiteId } = await shareFor(c, 'update');
      const updated = await registry.updateShare(websiteId, id, await readJson(c, UpdateShareBody), actorOf(c));
      if (!updated.ok && updated.reason === 'share_id_taken') throw taken();
      if (!updated.ok) throw notFound();
      return c.json(toShareRecord(updated.share) satisfies ShareRecord);
    })
    .delete(one, async (c) => {
      const { id, websiteId } = await shareFor(c, 'update');
      if (!(await registry.deleteShare(websiteId, id, actorOf(c)))) throw notFound();
      return c.json({ ok: true });
    });
}
