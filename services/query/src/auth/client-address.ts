import { createClientAddresses } from '@meridian/runtime/http/client-address';
import type { Context } from 'hono';
import type { QueryConfig, QueryEnv } from '../query-env.ts';

/** Tells a request's client by its address (docs/semantics.md "Client address"); '' outside a server. */
export function createClientAddress(config: QueryConfig): (c: Context<QueryEnv>) => string {
  const addressOf = createClientAddresses(config);
  return (c) => (c.env?.incoming ? addressOf(c.env.incoming).address : '');
}
