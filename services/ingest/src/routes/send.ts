import { sendBodyMaxBytes } from '@meridian/contract/collect';
import { PeerError } from '@meridian/peers/peers';
import { SendDraft, toIgnoredAnswer, toSendAnswer } from '../answers.ts';
import { type CacheTokens, toTokenSeed } from '../cache-token.ts';
import type { Collect, Foreign } from '../collect.ts';
import { countDecision } from '../collect-counts.ts';
import { answerError, answerForeign, answerJson, type Exchange } from '../http/answer.ts';
import type { BodyReader } from '../http/read-body.ts';
import { identityOf, toIdempotency } from '../idempotency.ts';
import type { Handed, HandOnEvents } from '../regions/hand-on-events.ts';
import type { createSenders } from '../sender.ts';
import { type AppendDeps, appendEvents, lastVisitOf } from './append-events.ts';
import { parseJsonRequest } from './parse-json-request.ts';

export type RouteDeps = AppendDeps & {
  /** One for both routes. */
  readBody: BodyReader;
  collect: Collect;
  senderOf: ReturnType<typeof createSenders>;
  tokens: CacheTokens;
  handOn: HandOnEvents;
};

/** POST /send: one event. */
export function createSendRoute(deps: RouteDeps): (exchange: Exchange) => Promise<void> {
  const { readBody, collect, senderOf, tokens, counts } = deps;
  return async (exchange) => {
    const json = parseJsonRequest(exchange, await readBody(exchange, sendBodyMaxBytes));
    if (!json) return;
    const sender = senderOf(exchange.request, exchange.claim);
    const decision = collect(json.value, sender, json.hasEscapes);
    const outcome = decision instanceof Promise ? await decision : decision;
    const { idempotencyKey: key, body, value: firstElement } = json;
    const identity = identityOf({ key, request: exchange.request, isPeer: sender.isPeer, firstElement, body });
    if (outcome.kind === 'foreign') return sendForeign(deps, exchange, outcome, { body, sender, identity });
    countDecision(counts, outcome);
    if (outcome.kind === 'ignored') return answerJson(exchange, JSON.stringify(toIgnoredAnswer(outcome.reason)));
    if (outcome.kind === 'rejected') return answerError(exchange, outcome.code, outcome.message, outcome.properties);

    const { placement } = outcome;
    const tokenSeed = toTokenSeed(placement.event, sender.nowMs);
    const appended = await appendEvents(deps, exchange, {
      placements: [placement],
      ...(identity && { idempotency: toIdempotency('send', identity, tokenSeed) }),
    });
    if (!appended) return;
    const draft = appended.replayOf === undefined ? tokenSeed : SendDraft.parse(JSON.parse(appended.replayOf));
    const visit = lastVisitOf(appended);
    if (!visit) throw new Error('The event log gave an event no visit');
    answerJson(exchange, toSendAnswer(tokens, draft, visit));
  };
}

async function sendForeign(
  deps: RouteDeps,
  exchange: Exchange,
  { region, placement }: Foreign,
  { body, ...who }: { body: Buffer } & Pick<Handed, 'sender' | 'identity'>,
): Promise<void> {
  const { handOn, counts } = deps;
  const { request, requestId } = exchange;
  try {
    const answer = await handOn.send(region, body, placement, { request, requestId, ...who });
    // What is kept counts when it is delivered, what that region leaves out on purpose counts there.
    if (answer.isStored) counts.handedOn++;
    answerForeign(exchange, answer);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    answerError(exchange, 'service-unavailable', 'The event cannot be taken at the moment.');
  }
}
