import { batchBodyMaxBytes, batchEventsMax } from '@meridian/contract/collect';
import type { Placement } from '@meridian/queue/placement';
import { BatchDraft, toBatchAnswer, toBatchDraft } from '../answers.ts';
import { toBatchElements } from '../batch-elements.ts';
import { type CollectOutcome, notLookedUp, unavailable } from '../collect.ts';
import { countDecision } from '../collect-counts.ts';
import { answerError, answerForeign, answerJson, type Exchange } from '../http/answer.ts';
import { identityHeader, identityOf, toIdempotency, toRecord } from '../idempotency.ts';
import { elsewhere, settleRepeated } from '../regions/batch-parts.ts';
import type { Handed } from '../regions/hand-on-events.ts';
import { settleForeign } from '../regions/settle-foreign.ts';
import { type Appended, appendEvents, lastVisitOf, reserveKey, tryAppend } from './append-events.ts';
import { parseJsonRequest } from './parse-json-request.ts';
import type { RouteDeps } from './send.ts';

/** POST /batch: up to 1,000 events, of which each stands for itself; those that are accepted are stored together. */
export function createBatchRoute(deps: RouteDeps): (exchange: Exchange) => Promise<void> {
  const { readBody, collect, senderOf } = deps;
  return async (exchange) => {
    const json = parseJsonRequest(exchange, await readBody(exchange, batchBodyMaxBytes));
    if (!json) return;
    const elements = toBatchElements(json.value);
    if (!elements) return answerError(exchange, 'bad-request', 'The body must be an array of events.');
    if (elements.length > batchEventsMax)
      return answerError(exchange, 'bad-request', `A batch must not hold more than ${batchEventsMax} events.`);

    const sender = senderOf(exchange.request, exchange.claim);
    const { isPeer } = sender;
    const outcomes: CollectOutcome[] = await settled(
      elements.map((element) => (isPeer && element === null ? elsewhere : collect(element, sender, json.hasEscapes))),
    );
    const firstElement = isPeer ? elements.find((element) => element !== null) : elements[0];
    const { idempotencyKey: key, body } = json;
    const identity = identityOf({ key, request: exchange.request, isPeer, firstElement, body });
    // The key binds every later try to the first answer, and these events may be taken then. Of what another region has
    // made a key for, it learns of each event what became of it; and what it sends again when the two disagree about a
    // website would stand before all else that it keeps.
    const isClientsKey = identity && (!isPeer || exchange.request.headers[identityHeader] !== undefined);
    const refusing: CollectOutcome[] = isPeer ? [notLookedUp] : [notLookedUp, unavailable];
    if (isClientsKey && outcomes.some((outcome) => refusing.includes(outcome)))
      return answerError(exchange, 'service-unavailable', 'Events cannot be taken at the moment.');
    const isForeign = outcomes.some(({ kind }) => kind === 'foreign');
    const batch: Batch = { elements, outcomes, isForeign, sender, identity };
    if (isForeign && (await handOnForeign(deps, exchange, batch)) === 'answered') return;
    return storeAndAnswer(deps, exchange, batch);
  };
}

/** `outcomes`: of each element. `isForeign`: some elements are other regions'. */
type Batch = Pick<Handed, 'sender' | 'identity'> & {
  elements: readonly unknown[];
  outcomes: CollectOutcome[];
  isForeign: boolean;
};

/**
 * Gives other regions the elements that are theirs, and puts in the outcomes what became of them, unless the client has
 * been told all there is.
 */
async function handOnForeign(
  deps: RouteDeps,
  exchange: Exchange,
  { elements, outcomes, sender, identity }: Batch,
): Promise<'answered' | 'go on'> {
  // Before anything is handed on: what is answered here afterwards must not be stored there first.
  const earlier = identity && (await reserveKey(deps, exchange, toRecord('batch', identity)));
  if (earlier === null) return 'answered';
  const first = earlier && firstDraft(earlier);
  if (first && !first.part) {
    answerDraft(deps, exchange, first, earlier);
    return 'answered';
  }
  const { request, requestId } = exchange;
  const handed = { request, requestId, sender, identity };
  const refusal = await settleForeign(outcomes, elements, { handOn: deps.handOn, handed });
  if (refusal === null) return 'go on';
  if (refusal === 'unavailable') answerError(exchange, 'service-unavailable', 'Events cannot be taken at the moment.');
  else answerForeign(exchange, refusal);
  return 'answered';
}

/**
 * Stores what is this region's, when other regions have been given theirs, and tells the client what became of every
 * element.
 */
async function storeAndAnswer(
  deps: RouteDeps,
  exchange: Exchange,
  { outcomes, isForeign, sender: { nowMs }, identity }: Batch,
): Promise<void> {
  const placements: Placement[] = [];
  for (const outcome of outcomes) {
    countDecision(deps.counts, outcome);
    if (outcome.kind === 'accepted') placements.push(outcome.placement);
  }
  const draft = toBatchDraft(outcomes, nowMs);
  if (!identity && placements.length === 0) return answerDraft(deps, exchange, draft);
  if (!identity && isForeign) {
    const appended = await tryAppend(deps, { placements });
    if (appended?.ok) return answerDraft(deps, exchange, draft, appended);
    // What other regions have taken must not be sent again, so a log that takes nothing costs its own events alone.
    const told = outcomes.map((outcome) => (outcome.kind === 'accepted' ? unavailable : outcome));
    return answerDraft(deps, exchange, toBatchDraft(told, nowMs));
  }
  // Of a batch of which nothing was taken no answer is kept, as /send keeps none.
  const idempotency =
    identity && (draft.processed > 0 ? toIdempotency('batch', identity, draft) : toRecord('batch', identity));
  const appended = await appendEvents(deps, exchange, { placements, ...(idempotency && { idempotency }) });
  if (!appended) return;
  const first = firstDraft(appended);
  if (!first) return answerDraft(deps, exchange, draft, appended);
  if (!first.part) return answerDraft(deps, exchange, first, appended);
  settleRepeated(outcomes, first.part, toBatchAnswer(deps.tokens, first, lastVisitOf(appended)));
  answerDraft(deps, exchange, toBatchDraft(outcomes, nowMs));
}

function answerDraft({ tokens }: RouteDeps, exchange: Exchange, draft: BatchDraft, appended?: Appended): void {
  answerJson(exchange, JSON.stringify(toBatchAnswer(tokens, draft, appended && lastVisitOf(appended))));
}

/** The draft of the first request with this key; null where this is the first. */
function firstDraft({ replayOf }: Appended): BatchDraft | null {
  return replayOf === undefined ? null : BatchDraft.parse(JSON.parse(replayOf));
}

/** Waits only where a website has to be looked up first. */
function settled<Outcome>(outcomes: (Outcome | Promise<Outcome>)[]): Promise<Outcome[]> | Outcome[] {
  return outcomes.some((outcome) => outcome instanceof Promise) ? Promise.all(outcomes) : (outcomes as Outcome[]);
}
