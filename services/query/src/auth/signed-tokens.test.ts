import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSessionTokens } from './session-token.ts';
import { createShareTokens } from './share-token.ts';

const [first, second, third] = [
  'the first secret, of at least 32 bytes',
  'the second secret, of at least 32 bytes',
  'the third secret, of at least 32 bytes',
] as const;
const now = new Date('2026-06-10T10:00:00Z');
const user = { id: randomUUID(), sessionGeneration: 0 };
const share = { id: randomUUID(), websiteId: randomUUID(), slug: 'my-link' };

const kinds = [
  ['session', createSessionTokens, (secret: string) => createSessionTokens(secret).issue(user, now)],
  ['share', createShareTokens, (secret: string) => createShareTokens(secret).issue(share, now)],
] as const;

test.each(kinds)('a %s token of a previous secret counts, of whichever, until it expires', async (_, create, issue) => {
  const rotated = create(third, [second, first]);
  for (const secret of [third, second, first]) {
    const token = await issue(secret);
    expect(await rotated.verify(token, now)).not.toBeNull();
    expect(await create(third).verify(token, now)).toEqual(secret === third ? expect.anything() : null);
    expect(await create(third, [second, first]).verify(token, new Date('2026-06-17T10:00:00Z'))).toBeNull();
  }
});

test('new tokens are signed by the current secret alone', async () => {
  const session = await createSessionTokens(second, [first]).issue(user, now);
  expect(await createSessionTokens(second).verify(session, now)).not.toBeNull();
  expect(await createSessionTokens(first).verify(session, now)).toBeNull();
  const link = await createShareTokens(second, [first]).issue(share, now);
  expect(await createShareTokens(second).verify(link, now)).toEqual(share);
  expect(await createShareTokens(first).verify(link, now)).toBeNull();
});
