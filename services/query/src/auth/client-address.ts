import { createClientAddresses } from '@meridian/runtime/http/client-address';
import type { Context } from 'hono';
import type { QueryConfig, QueryEnv } from '../query-env.ts';

/**
 * Tells a request's client by its address (docs/semantics.md "Client address"), as the region saw it that it came to;
 * '' outside a server.
 */
export function createClientAddress(config: QueryConfig): (c: Context<QueryEnv>) => string {
  const addressOf = createClientAddresses(config);
  return (c) => c.get('peer')?.address ?? (c.env?.incoming ? addressOf(c.env.incoming).address : '');
}
