import { publishWebsiteChange } from '@meridian/queue/website-changes';
import { testActor } from '@meridian/registry/registry-fixtures';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Reply, startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
/** Of another region: another secret, other websites. */
let elsewhere: Awaited<ReturnType<typeof startTestIngest>>;

beforeAll(async () => {
  ingest = await startTestIngest();
  elsewhere = await startTestIngest({ APP_SECRET: 'another secret of at least thirty-two bytes' });
});
afterAll(async () => {
  await ingest.stop();
  await elsewhere.stop();
});

type Answer = { cache: string; sessionId: string; visitId: string };
const answerOf = (reply: Reply): Answer => {
  expect(reply.status, reply.text).toBe(200);
  return JSON.parse(reply.text);
};
const event = (website: string, fields: object = {}) => ({ type: 'event', payload: { website, url: '/a', ...fields } });
const withToken = (cache: string) => ({ 'x-umami-cache': cache });

test('a token decides about no website but its own: the event is booked where its payload says, as if there were no token', async () => {
  const [first, second] = [await ingest.newWebsite(), await ingest.newWebsite()];
  const own = answerOf(await ingest.send(event(first, { id: 'user-1' })));
  const there = answerOf(await ingest.send(event(second)));
  const other = answerOf(await ingest.send(event(second, { url: '/b' }), withToken(own.cache)));
  expect([other.sessionId, other.visitId]).toEqual([there.sessionId, there.visitId]);
  // Its answer's token is of the second website: there it goes on, on the first it counts nothing.
  const next = answerOf(await ingest.send(event(second, { url: '/c', ip: '203.0.113.9' }), withToken(other.cache)));
  expect(next.visitId).toBe(other.visitId);
  const back = answerOf(await ingest.send(event(first, { id: 'user-1' }), withToken(other.cache)));
  expect([back.sessionId, back.visitId]).toEqual([own.sessionId, own.visitId]);
  expect((await ingest.storedEvents(first)).map((stored) => stored.distinctId)).toEqual(['user-1', 'user-1']);
  expect((await ingest.storedEvents(second)).map((stored) => [stored.urlPath, stored.distinctId])).toEqual([
    ['/a', ''],
    ['/b', ''],
    ['/c', ''],
  ]);
});

test('in a batch for several websites the token counts for its own alone', async () => {
  const [first, second] = [await ingest.newWebsite(), await ingest.newWebsite()];
  const own = answerOf(await ingest.send(event(first, { id: 'user-1' })));
  await ingest.batch([event(second), event(first), event(second, { id: 'user-2' })], withToken(own.cache));
  const [, inBatch] = await ingest.storedEvents(first);
  expect(inBatch).toMatchObject({ sessionId: own.sessionId, visitId: own.visitId, distinctId: 'user-1' });
  const others = await ingest.storedEvents(second);
  expect(others.map((stored) => stored.distinctId)).toEqual(['', 'user-2']);
  for (const stored of others) expect(stored.visitId).not.toBe(own.visitId);
});

test('a token of another region, of a deleted website, cut, doubled or with any bit flipped counts as absent', async () => {
  const website = await ingest.newWebsite();
  const deleted = await ingest.newWebsite();
  const ofDeleted = answerOf(await ingest.send(event(deleted, { id: 'user-1' }))).cache;
  await ingest.registry.deleteWebsite(deleted, testActor);
  await publishWebsiteChange(ingest.reader, deleted);
  const ofRegion = answerOf(await elsewhere.send(event(await elsewhere.newWebsite(), { id: 'user-1' }))).cache;
  const own = answerOf(await ingest.send(event(website, { id: 'user-1' }))).cache;
  const flipped = Array.from(own, (character, at) => {
    const changed = String.fromCharCode(character.charCodeAt(0) ^ 1);
    return `${own.slice(0, at)}${changed}${own.slice(at + 1)}`;
  });
  const anonymous = answerOf(await ingest.send(event(website)));
  const unusable = [ofDeleted, ofRegion, own.slice(1), own.slice(0, -1), `${own}${own}`, `${own}.`, own.toUpperCase()];
  for (const token of [...unusable, ...flipped]) {
    // Of one network address and User-Agent without a token, so the same visitor.
    const answer = answerOf(await ingest.send(event(website), withToken(token)));
    expect([token, answer.sessionId, answer.visitId]).toEqual([token, anonymous.sessionId, anonymous.visitId]);
  }
  expect((await ingest.send(event(deleted), withToken(ofDeleted))).status).toBe(400);
});
