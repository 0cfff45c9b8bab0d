import { BatchAnswer, type IgnoredAnswer } from '@meridian/contract/collect';
import { errorBody } from '@meridian/contract/errors';
import type { Placement, VisitHint } from '@meridian/queue/placement';
import { z } from 'zod';
import { type CacheTokens, type TokenSeed, toTokenSeed } from './cache-token.ts';
import type { CollectOutcome, IgnoreReason } from './collect.ts';

/*
 * An answer is made of a draft and of the visit that the event log chose. The draft is stored beside an idempotency
 * key, so that a repeated request gets the first answer again, token included.
 */

export const SendDraft = z.object({
  websiteId: z.string(),
  sessionId: z.string(),
  distinctId: z.string(),
  issuedAtSeconds: z.number(),
}) satisfies z.ZodType<TokenSeed>;

/** `tokenSeed`: of the last accepted event. */
export const BatchDraft = BatchAnswer.omit({ cache: true }).extend({
  tokenSeed: SendDraft.nullable(),
  /** Of the last accepted event where that was taken elsewhere or before. */
  cache: z.string().nullable().default(null),
  /** The indexes that it is about, where other regions deal with the others; absent = all. */
  part: z.array(z.int()).optional(),
});
export type BatchDraft = z.infer<typeof BatchDraft>;

/** `SendAnswer` as JSON text; neither a token nor a UUID has a character that would have to be escaped. */
export function toSendAnswer(tokens: CacheTokens, seed: TokenSeed, visit: VisitHint): string {
  return `{"cache":"${tokens.sign(seed, visit)}","sessionId":"${seed.sessionId}","visitId":"${visit.visitId}"}`;
}

export function toIgnoredAnswer(reason: IgnoreReason): IgnoredAnswer {
  return { beep: 'boop', ignored: reason };
}

/** The counts and reasons of a batch; indexes are positions in the body. `nowMs`: when it came, Unix ms. */
export function toBatchDraft(outcomes: readonly CollectOutcome[], nowMs: number): BatchDraft {
  let last: Placement | null = null;
  const draft: BatchDraft = {
    size: outcomes.length,
    processed: 0,
    errors: 0,
    details: [],
    ignored: 0,
    ignoredDetails: [],
    tokenSeed: null,
    cache: null,
    part: partOf(outcomes),
  };
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind === 'accepted') {
      draft.processed++;
      last = outcome.placement;
    } else if (outcome.kind === 'taken') {
      draft.processed++;
      last = null;
      draft.cache = outcome.cache;
    } else if (outcome.kind === 'ignored' || outcome.kind === 'ignored before') {
      draft.ignored++;
      draft.ignoredDetails.push({ index, reason: outcome.reason });
    } else if (outcome.kind === 'rejected before') {
      draft.errors++;
      draft.details.push(outcome.detail);
    } else if (outcome.kind === 'rejected') {
      draft.errors++;
      const { code, message } = outcome;
      draft.details.push({ index, error: message, response: errorBody(code, message) });
    }
  }
  if (last) draft.tokenSeed = toTokenSeed(last.event, nowMs);
  return draft;
}

/** Undefined when they are about all elements. */
function partOf(outcomes: readonly CollectOutcome[]): number[] | undefined {
  if (!outcomes.some(({ kind }) => kind === 'elsewhere')) return undefined;
  return outcomes.flatMap(({ kind }, index) => (kind === 'elsewhere' ? [] : [index]));
}

/** `lastVisit`: of the last stored event, undefined when none was stored. */
export function toBatchAnswer(tokens: CacheTokens, draft: BatchDraft, lastVisit: VisitHint | undefined): BatchAnswer {
  const { tokenSeed, part: _, ...answer } = draft;
  return tokenSeed !== null && lastVisit !== undefined
    ? { ...answer, cache: tokens.sign(tokenSeed, lastVisit) }
    : answer;
}
