import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/**
 * Sets a header of the answer: on node's answer itself where there is one, because the platform's `Headers`, in which
 * `c.header` collects them, costs more than all else of an answer's head.
 */
export function setHeader(c: Context<QueryEnv>, name: string, value: string): void {
  const answer = c.env?.outgoing;
  if (answer instanceof ServerResponse) answer.setHeader(name, value);
  else c.header(name, value);
}

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * Aborts when the client goes away. All requests of a connection have one: they end with it, and one for each, as
 * `c.req.raw.signal` makes it, costs the process a tenth of a question.
 */
export function clientSignal(c: Context<QueryEnv>): AbortSignal {
  const socket = c.env?.incoming?.socket;
  if (!(socket instanceof Socket)) return c.req.raw.signal;
  const known = signals.get(socket);
  if (known) return known;
  const client = new AbortController();
  if (socket.destroyed) client.abort();
  else socket.once('close', () => client.abort());
  signals.set(socket, client.signal);
  return client.signal;
}

/**
 * Whether the client has gone away, so that nobody waits for the answer. Asking the request's signal would first make
 * one.
 */
export function isClientGone(c: Context<QueryEnv>): boolean {
  const { incoming, outgoing } = c.env ?? {};
  return incoming && outgoing ? incoming.socket.destroyed && !outgoing.writableFinished : c.req.raw.signal.aborted;
}
