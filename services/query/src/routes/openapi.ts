import { toOpenApiDocument } from '@meridian/contract/operations/openapi-document';
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { createFixedAnswer } from '../http/fixed-answer.ts';
import { setHeader } from '../http/node-answer.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** GET /openapi.json: all that this instance offers, in OpenAPI 3.1. Needs no credential. */
export function openApiRoutes({ config }: Pick<QueryDeps, 'config'>): Hono<QueryEnv> {
  const answer = createFixedAnswer(async () => JSON.stringify(toOpenApiDocument(config)), 'application/json');
  return new Hono<QueryEnv>().get('/openapi.json', etag(), (c) => {
    setHeader(c, 'cache-control', 'no-cache'); // may be kept, but is asked for again
    return answer(c);
  });
}
