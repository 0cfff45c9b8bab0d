import { toOpenApiDocument } from '@meridian/contract/operations/openapi-document';
import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import { etagOf } from '../http/etag-of.ts';
import { setHeader } from '../http/node-answer.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** GET /openapi.json: all that this instance offers, in OpenAPI 3.1. Needs no credential. */
export function openApiRoutes({ config }: Pick<QueryDeps, 'config'>): Hono<QueryEnv> {
  let document: { text: string; etag: string } | undefined;
  return new Hono<QueryEnv>().get('/openapi.json', compress(), etag(), (c) => {
    document ??= withEtag(JSON.stringify(toOpenApiDocument(config)));
    setHeader(c, 'cache-control', 'no-cache'); // may be kept, but is asked for again
    return c.body(document.text, 200, { 'content-type': 'application/json', etag: document.etag });
  });
}

const withEtag = (text: string) => ({ text, etag: etagOf(text) });
