import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/** The address of the connection; '' outside a server. */
export function clientAddress(c: Context<QueryEnv>): string {
  return c.env?.incoming?.socket.remoteAddress ?? '';
}
