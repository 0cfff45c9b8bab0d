import { batchBodyMaxBytes, batchEventsMax } from '@meridian/contract/collect';
import type { Placement } from '@meridian/queue/placement';
import { readUuid } from '@meridian/queue/uuid-bytes';
import { BatchDraft, toBatchAnswer, toBatchDraft } from '../answers.ts';
import { toBatchElements } from '../batch-elements.ts';
import { type CollectOutcome, unavailable } from '../collect.ts';
import { countDecision } from '../collect-counts.ts';
import { answerError, answerForeign, answerJson, type Exchange } from '../http/answer.ts';
import { identityOf, toIdempotency, toRecord } from '../idempotency.ts';
import { elsewhere, settleRepeated } from '../regions/batch-parts.ts';
import { settleForeign } from '../regions/settle-foreign.ts';
import { type Appended, appendEvents, reserveKey, tryAppend } from './append-events.ts';
import { parseJsonRequest } from './parse-json-request.ts';
import type { RouteDeps } from './send.ts';

/** POST /batch: up to 1,000 events, of which each stands for itself; those that are accepted are stored together. */
export function createBatchRoute(deps: RouteDeps): (exchange: Exchange) => Promise<void> {
  const { readBody, collect, senderOf, tokens, counts, handOn } = deps;
  return async (exchange) => {
    const json = parseJsonRequest(exchange, await readBody(exchange.request, batchBodyMaxBytes));
    if (!json) return;
    const elements = toBatchElements(json.value);
    if (!elements) return answerError(exchange, 'bad-request', 'The body must be an array of events.');
    if (elements.length > batchEventsMax)
      return answerError(exchange, 'bad-request', `A batch must not hold more than ${batchEventsMax} events.`);

    const { request, requestId, claim } = exchange;
    const sender = senderOf(request, claim);
    const { isPeer, nowMs } = sender;
    const outcomes: CollectOutcome[] = await settled(
      elements.map((element) => (isPeer && element === null ? elsewhere : collect(element, sender, json.hasEscapes))),
    );
    const firstElement = isPeer ? elements.find((element) => element !== null) : elements[0];
    const { idempotencyKey: key, body } = json;
    const identity = identityOf({ key, request, isPeer, firstElement, body });
    const isForeign = outcomes.some(({ kind }) => kind === 'foreign');
    const answer = (answered: BatchDraft, appended?: Appended) =>
      answerJson(exchange, JSON.stringify(toBatchAnswer(tokens, answered, appended && lastVisitOf(appended))));
    if (isForeign) {
      // Before anything is handed on: what is answered here afterwards must not be stored there first.
      const earlier = identity && (await reserveKey(deps, exchange, toRecord('batch', identity)));
      if (earlier === null) return;
      const first = earlier && firstDraft(earlier);
      if (first && !first.part) return answer(first, earlier);
      const handed = { request, requestId, sender, identity };
      const refusal = await settleForeign(outcomes, elements, { handOn, handed });
      if (refusal === 'unavailable')
        return answerError(exchange, 'service-unavailable', 'Events cannot be taken at the moment.');
      if (refusal) return answerForeign(exchange, refusal);
    }
    const placements: Placement[] = [];
    for (const outcome of outcomes) {
      countDecision(counts, outcome);
      if (outcome.kind === 'accepted') placements.push(outcome.placement);
    }

    const draft = toBatchDraft(outcomes, nowMs);
    if (!identity && placements.length === 0) return answer(draft);
    if (!identity && isForeign) {
      const appended = await tryAppend(deps, { placements });
      if (appended?.ok) return answer(draft, appended);
      // What other regions have taken must not be sent again, so a log that takes nothing costs its own events alone.
      const told = outcomes.map((outcome) => (outcome.kind === 'accepted' ? unavailable : outcome));
      return answer(toBatchDraft(told, nowMs));
    }
    const idempotency = identity && toIdempotency('batch', identity, draft);
    const appended = await appendEvents(deps, exchange, { placements, ...(idempotency && { idempotency }) });
    if (!appended) return;
    const first = firstDraft(appended);
    if (!first) return answer(draft, appended);
    if (!first.part) return answer(first, appended);
    settleRepeated(outcomes, first.part, toBatchAnswer(tokens, first, lastVisitOf(appended)));
    answer(toBatchDraft(outcomes, nowMs));
  };
}

/** The draft of the first request with this key; null where this is the first. */
function firstDraft({ replayOf }: Appended): BatchDraft | null {
  return replayOf === undefined ? null : BatchDraft.parse(JSON.parse(replayOf));
}

function lastVisitOf({ visitIds }: Appended): string | undefined {
  return visitIds.length > 0 ? readUuid(visitIds, visitIds.length - 16) : undefined;
}

/** Waits only where a website has to be looked up first. */
function settled<Outcome>(outcomes: (Outcome | Promise<Outcome>)[]): Promise<Outcome[]> | Outcome[] {
  return outcomes.some((outcome) => outcome instanceof Promise) ? Promise.all(outcomes) : (outcomes as Outcome[]);
}
