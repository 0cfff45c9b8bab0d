import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BatchAnswer, IgnoredAnswer, SendAnswer } from '@meridian/contract/collect';
import { type ErrorCode, errorStatus, isErrorCode, isUnread } from '@meridian/contract/errors';
import { PeerError, type Peers } from '@meridian/peers/peers';
import { visitGapMs } from '@meridian/queue/append-script';
import type { ForwardSpool, SpooledRequest } from '@meridian/queue/forward-spool';
import type { Placement, VisitHint } from '@meridian/queue/placement';
import { readUuid } from '@meridian/queue/uuid-bytes';
import { createUuidV7Minter } from '@meridian/queue/uuid-v7';
import { networkOf } from '@meridian/runtime/http/address';
import { toSendAnswer } from '../answers.ts';
import { type CacheTokens, toTokenSeed } from '../cache-token.ts';
import { cdnHeaders } from '../client/cdn-place.ts';
import type { Sender } from '../collect.ts';
import { parseJson } from '../http/parse-json.ts';
import { type Identity, identityHeader, writeIdentity } from '../idempotency.ts';

/** How long another region is waited for: longer than an append there takes, shorter than a sender waits. */
const answerMaxMs = 10_000;
/** It has ended for any event. */
const noVisit: VisitHint = { visitId: '00000000-0000-0000-0000-000000000000', lastAtMs: 0 };
/** What of a request's head the other region needs. */
const passedHeaders = ['user-agent', 'x-umami-cache', 'accept'];

/** `code`: of the error that it is; null where the request was taken. */
export type ForeignAnswer = { status: number; code: ErrorCode | null; contentType: string; body: Buffer };

/** What an answer that is no error says. `isStored`: the event was not left out on purpose. */
type Told = { route: 'send'; isStored: boolean } | { route: 'batch'; answer: BatchAnswer };

/** How what was delivered was answered. */
export type Delivered = ForeignAnswer & ({ code: ErrorCode } | { code: null; told: Told });

/** Who sends, and the head of the request. `identity`: of one that has a key. */
export type Handed = {
  request: IncomingMessage;
  requestId: string;
  sender: Sender;
  identity: Identity | undefined;
};

export type HandOnDeps = {
  peers: Pick<Peers, 'askWhole'>;
  /**
   * Where requests wait for a region that cannot be reached, up to so many bytes for each; without it they are refused.
   */
  spool: { requests: ForwardSpool; maxBytes: number } | null;
  tokens: CacheTokens;
  reportOutage: (error: unknown) => void;
  /** Unix ms. */
  now: () => number;
};

export type HandOnEvents = ReturnType<typeof createHandOnEvents>;

/**
 * The way of events whose website is stored in another region: there they are placed in visits and stored. What a
 * region that cannot be reached does not get waits in the spool, if there is one, and is delivered under the same
 * idempotency key: also if that region has taken it and only the answer was lost.
 */
export function createHandOnEvents(deps: HandOnDeps) {
  const { peers, spool, tokens, reportOutage, now } = deps;
  const ids = createUuidV7Minter({ now });

  /** @throws PeerError when the region cannot be reached or cannot take anything, and when what answers is not it */
  async function deliver(region: string, request: SpooledRequest): Promise<Delivered> {
    const { route, body, headers, address, receivedAtMs, idempotencyKey } = request;
    const answer = await peers.askWhole(region, {
      method: 'POST',
      path: `/api/${route}`,
      headers: { ...headers, ...(idempotencyKey !== '' && { 'idempotency-key': idempotencyKey }) },
      body,
      claim: { address, ageMs: Math.max(0, now() - receivedAtMs) },
      network: networkOf(address),
      answerMaxMs,
    });
    const json = parseJson(answer.body);
    const value = json.ok ? json.value : undefined;
    if (answer.status === 200) {
      const told = readTold(route, value);
      if (told) return { ...answer, code: null, told };
    } else if (answer.status < 500) {
      const code = errorCodeOf(answer.status, value);
      if (code) return { ...answer, code };
    }
    throw new PeerError(`Region ${region} answered ${answer.status} to /${route}`);
  }

  function toRequest(
    route: SpooledRequest['route'],
    body: string,
    { request, requestId, sender, identity }: Handed,
  ): SpooledRequest {
    const headers: Record<string, string> = { 'content-type': 'application/json', 'x-request-id': requestId };
    if (identity) headers[identityHeader] = writeIdentity(identity);
    // What a content network says counts only where one of our proxies has let it through.
    for (const name of sender.place ? [...passedHeaders, ...cdnHeaders] : passedHeaders) {
      const value = request.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    const idempotencyKey = String(request.headers['idempotency-key'] ?? '') || (spool ? randomUUID() : '');
    return { route, body, headers, address: sender.address, receivedAtMs: sender.nowMs, idempotencyKey };
  }

  /** Delivers it, or keeps it: null. @throws PeerError when neither can be done */
  async function deliverOrKeep(region: string, request: SpooledRequest): Promise<Delivered | null> {
    try {
      return await deliver(region, request);
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      reportOutage(error);
      if (!spool) throw error;
      const isKept = await spool.requests.keep(region, request, spool.maxBytes).catch((cause: unknown) => {
        throw new PeerError('The spool takes nothing', { cause });
      });
      if (!isKept) throw error;
      return null;
    }
  }

  /**
   * The answer to an event that waits. Its visit goes on while its token is young. Else it is only supposed: the region
   * will choose it, so the token names none, and the next event is placed as one without token would be.
   */
  function toWaitingAnswer({ event, hint }: Placement, nowMs: number): string {
    const seed = toTokenSeed(event, nowMs);
    const { type, createdAtMs } = event;
    if (hint && createdAtMs - hint.lastAtMs <= visitGapMs) {
      const lastAtMs = type === 'performance' ? hint.lastAtMs : Math.max(hint.lastAtMs, createdAtMs);
      return toSendAnswer(tokens, seed, { visitId: hint.visitId, lastAtMs });
    }
    const bytes = new Uint8Array(16);
    ids.writeAt(createdAtMs, bytes, 0);
    const cache = tokens.sign(seed, noVisit);
    return JSON.stringify({ cache, sessionId: seed.sessionId, visitId: readUuid(bytes, 0) });
  }

  return {
    deliver,

    /**
     * One event: the whole request, and the whole answer, which is ours when the event waits. `isStored`: there, now;
     * it does not wait, and is not left out on purpose. @throws PeerError
     */
    async send(
      region: string,
      body: Buffer,
      placement: Placement,
      handed: Handed,
    ): Promise<ForeignAnswer & { isStored: boolean }> {
      const answer = await deliverOrKeep(region, toRequest('send', body.toString(), handed));
      if (answer)
        return { ...answer, isStored: answer.code === null && answer.told.route === 'send' && answer.told.isStored };
      const text = toWaitingAnswer(placement, handed.sender.nowMs);
      return { status: 200, code: null, contentType: 'application/json', body: Buffer.from(text), isStored: false };
    },

    /** A part of a batch, see batch-parts.ts; null when it waits. @throws PeerError */
    batch: (region: string, part: string, handed: Handed): Promise<Delivered | null> =>
      deliverOrKeep(region, toRequest('batch', part, handed)),
  };
}

/** Null for what no collector answers. */
function readTold(route: SpooledRequest['route'], value: unknown): Told | null {
  if (route === 'batch') {
    const answer = BatchAnswer.safeParse(value);
    return answer.success ? { route, answer: answer.data } : null;
  }
  const isStored = SendAnswer.safeParse(value).success;
  return isStored || IgnoredAnswer.safeParse(value).success ? { route, isStored } : null;
}

/**
 * Of an error that a collector has answered, in either form; undefined for what a proxy says in its stead, and where it
 * has not read the request: a kept one would be taken for refused, and lost.
 */
function errorCodeOf(status: number, value: unknown): ErrorCode | undefined {
  const told = value as { code?: unknown; error?: { code?: unknown } } | null | undefined;
  const code = told?.error?.code ?? told?.code;
  return isErrorCode(code) && !isUnread(code) && errorStatus[code] === status ? code : undefined;
}
