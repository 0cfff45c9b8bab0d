import { BatchAnswer, SendAnswer } from '@meridian/contract/collect';
import { pendingEvent } from '@meridian/queue/test-events';
import { expect, test } from 'vitest';
import { BatchDraft, SendDraft, toBatchAnswer, toBatchDraft, toSendAnswer } from './answers.ts';
import { createCacheTokens, type TokenSeed } from './cache-token.ts';
import type { CollectOutcome } from './collect.ts';

const tokens = createCacheTokens('a secret of at least thirty-two bytes');
const visit = { visitId: '0198c6a2-4000-7abc-9def-001122334455', lastAtMs: 1_781_085_599_000 };
const seed = (distinctId: string): TokenSeed => ({
  websiteId: '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50',
  sessionId: '47b88b3f-cb65-5ff2-9b09-9c1d3e8f8c2a',
  distinctId,
  issuedAtSeconds: 1_781_085_600,
});
const nowMs = 1_781_085_600_999;
const accepted = (id: string): CollectOutcome => {
  const { websiteId, sessionId, distinctId } = seed(id);
  return { kind: 'accepted', placement: { event: pendingEvent({ websiteId, sessionId, distinctId }) } };
};
const rejected: CollectOutcome = { kind: 'rejected', code: 'bad-request', message: 'type: wrong' };
const ignored: CollectOutcome = { kind: 'ignored', reason: 'crawler' };

test('an answer to send carries session, visit and a token of both', () => {
  const answer = SendAnswer.strict().parse(JSON.parse(toSendAnswer(tokens, seed('u'), visit)));
  expect([answer.sessionId, answer.visitId]).toEqual([seed('u').sessionId, visit.visitId]);
  expect(tokens.verify(answer.cache, 1_781_085_600_000)).toEqual({ ...seed('u'), ...visit });
});

test('a batch counts stored, failed and ignored events, and names the last two by their position', () => {
  const draft = toBatchDraft([accepted('a'), rejected, ignored, accepted('b'), rejected], nowMs);
  const answer = toBatchAnswer(tokens, draft, visit);
  expect(BatchAnswer.parse(answer)).toEqual(answer);
  expect(answer).toMatchObject({ size: 5, processed: 2, errors: 2, ignored: 1 });
  const response = { error: { message: 'type: wrong', code: 'bad-request', status: 400 } };
  expect(answer.details).toEqual([
    { index: 1, error: 'type: wrong', response },
    { index: 4, error: 'type: wrong', response },
  ]);
  expect(answer.ignoredDetails).toEqual([{ index: 2, reason: 'crawler' }]);
  expect(tokens.verify(answer.cache ?? '', 1_781_085_600_000)).toEqual({ ...seed('b'), ...visit });
});

test('a batch of which nothing is stored has no token', () => {
  const none = { details: [], ignoredDetails: [], errors: 0, ignored: 0, processed: 0, cache: null };
  expect(toBatchAnswer(tokens, toBatchDraft([], nowMs), undefined)).toEqual({ ...none, size: 0 });
  expect(toBatchAnswer(tokens, toBatchDraft([rejected, ignored], nowMs), undefined).cache).toBeNull();
});

test('a draft that was stored gives the same answer again', () => {
  const draft = toBatchDraft([rejected, accepted('a'), ignored], nowMs);
  const stored = BatchDraft.parse(JSON.parse(JSON.stringify(draft)));
  expect(toBatchAnswer(tokens, stored, visit)).toEqual(toBatchAnswer(tokens, draft, visit));
  const storedSeed = SendDraft.parse(JSON.parse(JSON.stringify(seed('u'))));
  expect(toSendAnswer(tokens, storedSeed, visit)).toEqual(toSendAnswer(tokens, seed('u'), visit));
});
