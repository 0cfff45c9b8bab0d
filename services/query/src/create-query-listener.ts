import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { errorBody } from '@meridian/contract/errors';
import { createQueryApp } from './create-query-app.ts';
import type { QueryDeps } from './query-env.ts';

/** The query API for a node:http server. */
export function createQueryListener(deps: QueryDeps): RequestListener {
  const app = createQueryApp(deps);
  return getRequestListener(app.fetch, {
    // HTTP/1.0 may come without Host.
    hostname: 'localhost',
    // What the app answers never comes here: only an address or a Host header that no URL can be made of.
    errorHandler: () => Response.json(errorBody('bad-request', 'The address is not valid.'), { status: 400 }),
  });
}
