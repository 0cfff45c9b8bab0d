import { batchBodyMaxBytes, batchEventsMax } from '@meridian/contract/collect';
import type { Placement } from '@meridian/queue/placement';
import { readUuid } from '@meridian/queue/uuid-bytes';
import { BatchDraft, toBatchAnswer, toBatchDraft } from '../answers.ts';
import { toBatchElements } from '../batch-elements.ts';
import { type CollectOutcome, type OwnOutcome, unavailable } from '../collect.ts';
import { countDecision } from '../collect-counts.ts';
import { answerError, answerForeign, answerJson, type Exchange } from '../http/answer.ts';
import { toIdempotency } from '../idempotency.ts';
import { settleForeign } from '../regions/settle-foreign.ts';
import { type Appended, appendEvents, tryAppend } from './append-events.ts';
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

    const sender = senderOf(exchange.request);
    const outcomes: CollectOutcome[] = await settled(
      elements.map((element) => collect(element, sender, json.hasEscapes)),
    );
    const isForeign = outcomes.some(({ kind }) => kind === 'foreign');
    if (isForeign) {
      const { request, requestId } = exchange;
      const isRepeatable = json.idempotencyKey !== undefined;
      const handed = { request, requestId, sender };
      const refusal = await settleForeign(outcomes, elements, { handOn, handed, isRepeatable });
      if (refusal === 'unavailable')
        return answerError(exchange, 'service-unavailable', 'Events cannot be taken at the moment.');
      if (refusal) return answerForeign(exchange, refusal);
    }
    const draft = toBatchDraft(outcomes, sender.nowMs);
    const placements: Placement[] = [];
    for (const outcome of outcomes) {
      countDecision(counts, outcome);
      if (outcome.kind === 'accepted') placements.push(outcome.placement);
    }

    const { idempotencyKey: key, body } = json;
    if (placements.length === 0 && key === undefined) {
      return answerJson(exchange, JSON.stringify(toBatchAnswer(tokens, draft, undefined)));
    }
    if (isForeign && key === undefined) {
      // What other regions have taken must not be sent again, so a log that takes nothing costs its own events alone.
      const appended = await tryAppend(deps, { placements });
      if (!appended?.ok) {
        const told = outcomes.map((outcome) => (outcome.kind === 'accepted' ? unavailable : outcome));
        return answerJson(exchange, JSON.stringify(toBatchAnswer(tokens, toBatchDraft(told, sender.nowMs), undefined)));
      }
      return answerJson(exchange, JSON.stringify(toBatchAnswer(tokens, draft, lastVisitOf(appended))));
    }
    const appended = await appendEvents(deps, exchange, {
      placements,
      ...(key !== undefined && {
        idempotency: toIdempotency({ route: 'batch', key, firstElement: elements[0], body, draft }),
      }),
    });
    if (!appended) return;
    const answered = appended.replayOf === undefined ? draft : BatchDraft.parse(JSON.parse(appended.replayOf));
    answerJson(exchange, JSON.stringify(toBatchAnswer(tokens, answered, lastVisitOf(appended))));
  };
}

function lastVisitOf({ visitIds }: Appended): string | undefined {
  return visitIds.length > 0 ? readUuid(visitIds, visitIds.length - 16) : undefined;
}

/** Waits only where a website has to be looked up first. */
function settled(outcomes: (OwnOutcome | Promise<OwnOutcome>)[]): Promise<OwnOutcome[]> | OwnOutcome[] {
  return outcomes.some((outcome) => outcome instanceof Promise) ? Promise.all(outcomes) : (outcomes as OwnOutcome[]);
}
