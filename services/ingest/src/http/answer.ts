import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, errorBody, type FieldErrors, problemBody, wantsProblem } from '@meridian/contract/errors';
import type { PeerClaim } from '@meridian/peers/peer-claim';
import type { GrowingBody } from '@meridian/runtime/http/growing-body';
import type { ForeignAnswer } from '../regions/hand-on-events.ts';
import type { RouteWatch } from '../route-watch.ts';
import { corsHeaders, preflightHeaders } from './cors.ts';

/** A request of collection on its way to an answer. */
export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  /** What another region says of it that has handed it on; undefined where a client sent it. */
  claim: PeerClaim | undefined;
  /** One that came packed: it counts until the request is answered, by then with what it unpacks to. */
  packedBody: GrowingBody | undefined;
  /** On the clock of `performance.now`. */
  startedAt: number;
  watch: RouteWatch;
};

/** What is read and thrown away of a body that was refused, before the connection is cut. */
const discardMaxBytes = 16_777_216;

/** Between 1 and 30; long enough for a store to restart. */
const retryAfterSeconds = '5';

/** @param body JSON text in ASCII */
export function answerJson(exchange: Exchange, body: string): void {
  answer(exchange, 200, ['content-type', 'application/json'], body);
}

/** What another region has answered, byte for byte. */
export function answerForeign(exchange: Exchange, { status, code, contentType, body }: ForeignAnswer): void {
  if (code !== null) exchange.watch.refused(code);
  answer(exchange, status, ['content-type', contentType], body.toString('latin1'));
}

/** An error body (docs/semantics.md "Errors"), as RFC 9457 when the client asks for it. */
export function answerError(exchange: Exchange, code: ErrorCode, message: string, properties?: FieldErrors): void {
  exchange.watch.refused(code);
  const body = errorBody(code, message, properties);
  const asProblem = wantsProblem(exchange.request.headers.accept);
  const headers = ['content-type', asProblem ? 'application/problem+json' : 'application/json'];
  if (code === 'service-unavailable') headers.push('retry-after', retryAfterSeconds);
  if (code === 'method-not-allowed') headers.push('allow', 'POST, OPTIONS');
  answer(exchange, body.error.status, headers, JSON.stringify(asProblem ? problemBody(body) : body));
}

export function answerPreflight(exchange: Exchange): void {
  answer(exchange, 204, preflightHeaders(exchange.request.headers), '');
}

function answer(exchange: Exchange, status: number, headers: string[], body: string): void {
  const { request, requestId, packedBody } = exchange;
  packedBody?.letGo();
  const { origin } = request.headers;
  headers.push('x-request-id', requestId, 'x-content-type-options', 'nosniff');
  if (status !== 204) headers.push('content-length', String(body.length));
  if (origin !== undefined) headers.push(...corsHeaders(origin));
  if (ready.length === 0) setImmediate(sendReady);
  ready.push({ exchange, status, headers, body });
}

type Answer = { exchange: Exchange; status: number; headers: string[]; body: string };

let ready: Answer[] = [];

/**
 * Answers that got ready in one turn of the event loop are sent one behind the other, for the same reason for which
 * bodies are read so.
 */
function sendReady(): void {
  const together = ready;
  ready = [];
  const now = performance.now();
  for (const each of together) send(each, now);
}

function send({ exchange, status, headers, body }: Answer, now: number): void {
  const { request, response } = exchange;
  // Gone already: the client, or the whole process at its end.
  if (response.destroyed || response.headersSent) return;
  exchange.watch.answered(exchange, status, now);
  if (!request.complete && Number(request.headers['content-length'] ?? 0) > discardMaxBytes)
    response.shouldKeepAlive = false;
  response.writeHead(status, headers);
  if (request.complete) {
    response.end(body, 'latin1');
    return;
  }
  // Ended only when the rest has come: a connection that is closed while the client writes can cost it the answer.
  response.write(body, 'latin1');
  discardRest(request, () => response.end());
}

function discardRest(request: IncomingMessage, done: () => void): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardMaxBytes) request.destroy();
  });
  request.once('close', done);
  request.once('end', done);
  request.resume();
}
