import { createHmac, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSessionTokens } from './session-token.ts';
import { forgeriesOf, tokenParts } from './token-fixtures.ts';

const secret = 'a secret of at least thirty-two bytes';
const tokens = createSessionTokens(secret);
const now = new Date('2026-06-10T10:00:00.500Z');
const user = { id: randomUUID(), sessionGeneration: 3 };
const dayMs = 86_400_000;

test('a session token is a JWT with a type of its own and all its claims, for 7 days', async () => {
  const { header, claims } = tokenParts(await tokens.issue(user, now));
  expect(header).toEqual({ alg: 'HS256', typ: 'session+jwt' });
  expect(claims).toEqual({
    gen: 3,
    iss: 'meridian',
    sub: user.id,
    jti: expect.any(String),
    iat: Date.parse('2026-06-10T10:00:00Z') / 1000,
    exp: Date.parse('2026-06-17T10:00:00Z') / 1000,
  });
});

test('it is what it was issued for, until it expires', async () => {
  const token = await tokens.issue(user, now);
  const { claims } = tokenParts(token);
  const expiresAt = new Date('2026-06-17T10:00:00Z');
  const session = { sessionId: claims.jti, userId: user.id, generation: 3, expiresAt };
  expect(await tokens.verify(token, now)).toEqual(session);
  expect(await tokens.verify(token, new Date(now.getTime() + 7 * dayMs - 1000))).toEqual(session);
  expect(await tokens.verify(token, new Date(now.getTime() + 7 * dayMs))).toBeNull();
});

test('nothing that is forged counts', async () => {
  const token = await tokens.issue(user, now);
  const key = createHmac('sha256', secret).update('session token').digest();
  const { genuine, forged, signed } = forgeriesOf(token, { key, secret, now });
  expect(await tokens.verify(genuine, now)).toMatchObject({ userId: user.id });
  const { header, claims } = tokenParts(token);
  const unfit: typeof forged = [
    ['no gen', signed(header, { ...claims, gen: undefined })],
    ['no jti', signed(header, { ...claims, jti: undefined })],
  ];
  for (const [name, text] of [...forged, ...unfit]) expect(await tokens.verify(text, now), name).toBeNull();
});
