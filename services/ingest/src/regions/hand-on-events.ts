import type { IncomingMessage } from 'node:http';
import { BatchAnswer } from '@meridian/contract/collect';
import { type Peers, passedHeaders } from '@meridian/peers/peers';
import { cdnHeaders } from '../client/cdn-place.ts';
import type { CollectOutcome, HandedOn, Rejection, Sender } from '../collect.ts';
import type { CollectRoute } from '../http/collect-paths.ts';

/** How long another region is waited for: longer than an append there takes, shorter than a sender waits. */
const answerMaxMs = 10_000;

export type ForeignAnswer = { status: number; contentType: string; body: Buffer };

/** Events of a website of another region, given to it as their sender sent them; what it answers. */
export type HandOnEvents = ReturnType<typeof createHandOnEvents>;

type Handed = { request: IncomingMessage; requestId: string; sender: Sender };

/** The way of events whose website is stored in another region: there they are placed in visits and stored, here nothing is kept of them. */
export function createHandOnEvents(peers: Peers) {
  async function ask(
    region: string,
    route: CollectRoute,
    body: Buffer | string,
    { request, requestId, sender }: Handed,
  ) {
    const headers = passedHeaders(request.headers);
    headers['content-type'] = 'application/json';
    headers['x-request-id'] = requestId;
    delete headers['content-encoding']; // the body has been read
    if (!sender.place) for (const name of cdnHeaders) delete headers[name]; // nobody who may has set them
    const answer = await peers.ask(region, {
      method: 'POST',
      path: `/api/${route}`,
      headers,
      body,
      claim: { address: sender.address, ageMs: Math.max(0, Date.now() - sender.nowMs) },
      answerMaxMs,
    });
    const chunks: Buffer[] = await answer.body.toArray();
    const contentType = String(answer.headers['content-type'] ?? 'application/json');
    return { status: answer.status, contentType, body: Buffer.concat(chunks) };
  }

  return {
    /** The whole request, and the whole answer. @throws PeerError */
    send: (region: string, body: Buffer, handed: Handed): Promise<ForeignAnswer> => ask(region, 'send', body, handed),

    /**
     * Elements of a batch. Gives what became of each, in order; an answer that is about all of them, such as an idempotency key that was used with
     * another body, as it is. @throws PeerError
     */
    async batch(
      region: string,
      elements: readonly unknown[],
      handed: Handed,
    ): Promise<CollectOutcome[] | ForeignAnswer> {
      const answer = await ask(region, 'batch', JSON.stringify(elements), handed);
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
