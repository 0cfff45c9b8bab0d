import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BatchAnswer } from '@meridian/contract/collect';
import { PeerError, type Peers, passedHeaders } from '@meridian/peers/peers';
import type { ForwardSpool, SpooledRequest } from '@meridian/queue/forward-spool';
import type { Placement } from '@meridian/queue/placement';
import { readUuid } from '@meridian/queue/uuid-bytes';
import { createUuidV7Minter } from '@meridian/queue/uuid-v7';
import { toSendAnswer } from '../answers.ts';
import { type CacheTokens, toTokenSeed } from '../cache-token.ts';
import { cdnHeaders } from '../client/cdn-place.ts';
import type { CollectOutcome, HandedOn, Rejection, Sender } from '../collect.ts';

/** How long another region is waited for: longer than an append there takes, shorter than a sender waits. */
const answerMaxMs = 10_000;
/** A visit ends when nothing comes for so long. */
const visitGapMs = 30 * 60_000;

export type ForeignAnswer = { status: number; contentType: string; body: Buffer };

/** Who sends, and the head of the request. */
export type Handed = { request: IncomingMessage; requestId: string; sender: Sender };

export type HandOnDeps = {
  peers: Pick<Peers, 'ask'>;
  /** Where requests wait for a region that cannot be reached; without it they are refused. */
  spool: ForwardSpool | null;
  /** Whether Redis is too full to keep more. */
  isFull: () => boolean;
  tokens: CacheTokens;
  reportOutage: (error: unknown) => void;
  /** Unix ms. */
  now: () => number;
};

export type HandOnEvents = ReturnType<typeof createHandOnEvents>;

/**
 * The way of events whose website is stored in another region, as their sender sent them: there they are placed in visits and stored. What a
 * region that cannot be reached does not get waits in the spool, if there is one, and is delivered under the same idempotency key: also if
 * that region has taken it and only the answer was lost.
 */
export function createHandOnEvents(deps: HandOnDeps) {
  const { peers, spool, isFull, tokens, reportOutage, now } = deps;
  const ids = createUuidV7Minter({ now });

  /** @throws PeerError when the region cannot be reached or cannot take anything */
  async function deliver(region: string, request: SpooledRequest): Promise<ForeignAnswer> {
    const { route, body, headers, address, receivedAtMs, idempotencyKey } = request;
    const answer = await peers.ask(region, {
      method: 'POST',
      path: `/api/${route}`,
      headers: { ...headers, ...(idempotencyKey !== '' && { 'idempotency-key': idempotencyKey }) },
      body,
      claim: { address, ageMs: Math.max(0, now() - receivedAtMs) },
      answerMaxMs,
    });
    const chunks: Buffer[] = await answer.body.toArray();
    if (answer.status >= 500) throw new PeerError(`Region ${region} answered ${answer.status}`);
    const contentType = String(answer.headers['content-type'] ?? 'application/json');
    return { status: answer.status, contentType, body: Buffer.concat(chunks) };
  }

  function toRequest(
    route: SpooledRequest['route'],
    body: string,
    { request, requestId, sender }: Handed,
  ): SpooledRequest {
    const headers: Record<string, string> = { 'content-type': 'application/json', 'x-request-id': requestId };
    for (const [name, value] of Object.entries(passedHeaders(request.headers))) headers[name] ??= String(value);
    delete headers['content-encoding']; // the body has been read
    if (!sender.place) for (const name of cdnHeaders) delete headers[name]; // nobody who may has set them
    const idempotencyKey = headers['idempotency-key'] || (spool ? randomUUID() : '');
    return { route, body, headers, address: sender.address, receivedAtMs: sender.nowMs, idempotencyKey };
  }

  /** Delivers it, or keeps it. @throws PeerError when neither can be done */
  async function deliverOrKeep(region: string, request: SpooledRequest): Promise<ForeignAnswer | 'kept'> {
    try {
      return await deliver(region, request);
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      reportOutage(error);
      if (!spool || isFull()) throw error;
      await spool.keep(region, request).catch((cause: unknown) => {
        throw new PeerError('The spool takes nothing', { cause });
      });
      return 'kept';
    }
  }

  /** A visit goes on while its token is young; what the other region remembers of the session wins all the same. */
  function visitOf({ event, hint }: Placement): string {
    if (hint && event.createdAtMs - hint.lastAtMs <= visitGapMs) return hint.visitId;
    const bytes = new Uint8Array(16);
    ids.writeAt(event.createdAtMs, bytes, 0);
    return readUuid(bytes, 0);
  }

  return {
    deliver,

    /** One event: the whole request, and the whole answer. @throws PeerError */
    async send(region: string, body: Buffer, placement: Placement, handed: Handed): Promise<ForeignAnswer> {
      const request = toRequest('send', body.toString(), handed);
      const seed = toTokenSeed(placement.event, handed.sender.nowMs);
      const visitId = visitOf(placement);
      // What is kept is placed in the visit that is answered now.
      if (spool && !placement.link) request.headers['x-umami-cache'] = tokens.sign(seed, visitId);
      const answer = await deliverOrKeep(region, request);
      if (answer !== 'kept') return answer;
      return { status: 200, contentType: 'application/json', body: Buffer.from(toSendAnswer(tokens, seed, visitId)) };
    },

    /**
     * Elements of a batch. Gives what became of each, in order; an answer that is about all of them, such as an idempotency key that was used with
     * another body, as it is. @throws PeerError
     */
    async batch(
      region: string,
      elements: readonly unknown[],
      handed: Handed,
    ): Promise<CollectOutcome[] | ForeignAnswer> {
      const answer = await deliverOrKeep(region, toRequest('batch', JSON.stringify(elements), handed));
      if (answer === 'kept') return elements.map((): HandedOn => ({ kind: 'handed-on', cache: null }));
      if (answer.status !== 200) return answer;
      const told = BatchAnswer.parse(JSON.parse(answer.body.toString()));
      const taken: HandedOn = { kind: 'handed-on', cache: told.cache };
      const outcomes = elements.map((): CollectOutcome => taken);
      for (const { index, response } of told.details)
        outcomes[index] = { kind: 'rejected', ...(response.error as Omit<Rejection, 'kind'>) };
      for (const { index, reason } of told.ignoredDetails)
        outcomes[index] = { kind: 'dropped', reason } as CollectOutcome;
      return outcomes;
    },
  };
}
