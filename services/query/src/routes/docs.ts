import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Hono, type MiddlewareHandler } from 'hono';
import { etag } from 'hono/etag';
import { etagOf } from '../http/etag-of.ts';
import { createFixedAnswer } from '../http/fixed-answer.ts';
import { setHeader } from '../http/node-answer.ts';
import type { QueryEnv } from '../query-env.ts';
import { docsPage, docsScript } from './docs-page.ts';

const html = 'text/html; charset=UTF-8';
const javascript = 'text/javascript; charset=utf-8';

/**
 * Nothing but the files of this page, and requests to this instance. Pictures in the library's style sheet are data.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** GET /docs: the document of openapi.json as a page to read and to try. Needs no credential. */
export function docsRoutes(): Hono<QueryEnv> {
  const folder = libraryFolder();
  const file = (name: string, type: string) => createFixedAnswer(() => readFile(join(folder, name)), type);
  return new Hono<QueryEnv>()
    .use('/docs/*', etag(), pageHeaders)
    .get('/docs', (c) => {
      const page = docsPage(new URL(c.req.url).pathname);
      return c.body(page, 200, { 'content-type': html, etag: etagOf(page) });
    })
    .get(
      '/docs/page.js',
      createFixedAnswer(async () => docsScript, javascript),
    )
    .get('/docs/swagger-ui-bundle.js', file('swagger-ui-bundle.js', javascript))
    .get('/docs/swagger-ui.css', file('swagger-ui.css', 'text/css; charset=utf-8'));
}

/** Browsers keep the files and ask whether they are still the same. */
const pageHeaders: MiddlewareHandler<QueryEnv> = async (c, next) => {
  setHeader(c, 'cache-control', 'no-cache');
  setHeader(c, 'content-security-policy', contentSecurityPolicy);
  setHeader(c, 'referrer-policy', 'no-referrer');
  await next();
};

/** The files of the library: beside a bundle (scripts/bundle.mjs), else in its package. */
function libraryFolder(): string {
  const bundled = fileURLToPath(new URL('../swagger-ui', import.meta.url));
  return existsSync(bundled)
    ? bundled
    : dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
}
