import { createHmac, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSessionTokens } from './session-token.ts';

const secret = 'a secret of at least thirty-two bytes';
const tokens = createSessionTokens(secret);
const now = new Date('2026-06-10T10:00:00.500Z');
const user = { id: randomUUID(), sessionGeneration: 3 };
const dayMs = 86_400_000;

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());
const issue = async () => {
  const token = await tokens.issue(user, now);
  const [head = '', body = '', signature = ''] = token.split('.');
  return { token, head, body, signature, header: decode(head), claims: decode(body) };
};
/** A token signed with the key that the service derives from its secret. */
const signed = (header: object, claims: object) => {
  const key = createHmac('sha256', secret).update('session token').digest();
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`;
};

test('a session token is a JWT with a type of its own and all its claims, for 7 days', async () => {
  const { header, claims } = await issue();
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
  const { token, claims } = await issue();
  const expiresAt = new Date('2026-06-17T10:00:00Z');
  const session = { sessionId: claims.jti, userId: user.id, generation: 3, expiresAt };
  expect(await tokens.verify(token, now)).toEqual(session);
  expect(await tokens.verify(token, new Date(now.getTime() + 7 * dayMs - 1000))).toEqual(session);
  expect(await tokens.verify(token, new Date(now.getTime() + 7 * dayMs))).toBeNull();
});

describe('refused', () => {
  test('a changed claim, a changed, empty or missing signature', async () => {
    const { head, body, signature, claims } = await issue();
    const forged = encode({ ...claims, sub: randomUUID() });
    for (const token of [
      `${head}.${forged}.${signature}`,
      `${head}.${body}.${signature.slice(0, -4)}AAAA`,
      `${head}.${body}.`,
      `${head}.${body}`,
      'x.y.z',
      '..',
      '',
    ])
      expect(await tokens.verify(token, now)).toBeNull();
  });

  test('another algorithm, another type, another issuer, a missing claim, a token not valid yet', async () => {
    const { header, claims } = await issue();
    const { exp, ...endless } = claims;
    expect(exp).toBeDefined();
    expect(await tokens.verify(signed(header, claims), now)).not.toBeNull();
    for (const token of [
      `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
      signed({ ...header, alg: 'HS512' }, claims),
      signed({ ...header, alg: 'RS256', kid: '../../dev/null' }, claims),
      signed({ ...header, typ: 'cache+jwt' }, claims),
      signed({ alg: 'HS256' }, claims),
      signed(header, { ...claims, iss: 'somebody' }),
      signed(header, endless),
      signed(header, { ...claims, nbf: claims.exp }),
      signed(header, { ...claims, sub: 'admin' }),
      signed(header, { ...claims, gen: undefined }),
    ])
      expect(await tokens.verify(token, now)).toBeNull();
  });

  test('a token that another secret, or the bare secret, signed', async () => {
    const { header, claims } = await issue();
    const foreign = await createSessionTokens('another secret of thirty-two bytes').issue(user, now);
    const content = `${encode(header)}.${encode(claims)}`;
    const bare = `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
    expect(await tokens.verify(foreign, now)).toBeNull();
    expect(await tokens.verify(bare, now)).toBeNull();
  });
});
