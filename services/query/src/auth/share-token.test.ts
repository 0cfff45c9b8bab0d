import { createHmac, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSessionTokens } from './session-token.ts';
import { createShareTokens } from './share-token.ts';
import { forgeriesOf, tokenParts } from './token-fixtures.ts';

const secret = 'a secret of at least thirty-two bytes';
const tokens = createShareTokens(secret);
const now = new Date('2026-06-10T10:00:00.500Z');
const share = { id: randomUUID(), websiteId: randomUUID(), slug: 'my-link' };

test('a share token is a JWT of a type of its own, says link, website and slug, and lives for 7 days', async () => {
  const token = await tokens.issue({ ...share, name: 'not told' } as typeof share, now);
  const { header, claims } = tokenParts(token);
  expect(header).toEqual({ alg: 'HS256', typ: 'share+jwt' });
  expect(claims).toEqual({
    iss: 'meridian',
    sub: share.id,
    website: share.websiteId,
    slug: 'my-link',
    iat: Date.parse('2026-06-10T10:00:00Z') / 1_000,
    exp: Date.parse('2026-06-17T10:00:00Z') / 1_000,
  });
  for (let i = 0; i < 2; i++) {
    expect(await tokens.verify(token, now)).toEqual(share);
    expect(await tokens.verify(token, new Date('2026-06-17T09:59:59Z'))).toEqual(share);
    expect(await tokens.verify(token, new Date('2026-06-17T10:00:00Z'))).toBeNull();
  }
});

test('nothing that is forged counts', async () => {
  const token = await tokens.issue(share, now);
  const key = createHmac('sha256', secret).update('share token').digest();
  const { genuine, forged } = forgeriesOf(token, { key, secret, now });
  expect(await tokens.verify(genuine, now)).toEqual(share);
  for (const [name, text] of forged) expect(await tokens.verify(text, now), name).toBeNull();
});

test('no session is a link and no link a session', async () => {
  const sessions = createSessionTokens(secret);
  const session = await sessions.issue({ id: share.id, sessionGeneration: 0 }, now);
  const token = await tokens.issue(share, now);
  expect([await tokens.verify(session, now), await sessions.verify(token, now)]).toEqual([null, null]);
});
