import { UpdateWebsiteBody, type WebsiteRecord } from '@meridian/contract/websites';
import { Hono } from 'hono';
import { toSharedWebsite, toWebsiteRecord } from '../answers/website-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { findReadableWebsite, getWebsiteFor, websiteNotFound } from '../auth/website-access.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { announceWebsite } from '../websites/announce-website.ts';
import { forgetWebsite } from '../websites/forget-website.ts';

/** /websites/{websiteId}: read, update, delete, reset. */
export function websiteRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const { registry, jobs, logger, now } = deps;
  return new Hono<QueryEnv>()
    .get('/websites/:websiteId', async (c) => {
      const reader = c.get('reader');
      const website = await findReadableWebsite(deps, reader, c.req.param('websiteId'));
      if (website && 'share' in reader) return c.json(toSharedWebsite(website));
      return c.json(website && (toWebsiteRecord(website) satisfies WebsiteRecord));
    })
    .post('/websites/:websiteId', async (c) => {
      const { id } = await getWebsiteFor(deps, c.get('caller'), c.req.param('websiteId'), 'update');
      const updated = await registry.updateWebsite(id, await readJson(c, UpdateWebsiteBody), actorOf(c));
      if (!updated.ok && updated.reason === 'share_id_taken')
        throw refusedValue('shareId', 'That share ID is already taken.');
      if (!updated.ok) throw websiteNotFound();
      return c.json(toWebsiteRecord(updated.website) satisfies WebsiteRecord);
    })
    .delete('/websites/:websiteId', async (c) => {
      const { id } = await getWebsiteFor(deps, c.get('caller'), c.req.param('websiteId'), 'delete');
      if (!(await registry.deleteWebsite(id, actorOf(c)))) throw websiteNotFound();
      await forgetWebsite(deps, id);
      return c.json({ ok: true });
    })
    .post('/websites/:websiteId/reset', async (c) => {
      const { id } = await getWebsiteFor(deps, c.get('caller'), c.req.param('websiteId'), 'reset');
      const resetAt = now();
      if (!(await registry.resetWebsite(id, resetAt, actorOf(c)))) throw websiteNotFound();
      await announceWebsite(deps, id);
      // From now on answers leave the events out. An order that is lost here is given by the worker's sweep.
      await jobs
        .resetWebsite(id, resetAt)
        .catch((err: unknown) => logger.warn({ err, websiteId: id }, 'reset not ordered'));
      return c.json({ ok: true });
    });
}
