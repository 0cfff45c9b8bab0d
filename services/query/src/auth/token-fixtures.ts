import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto';

type Json = Record<string, unknown>;

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const decode = (part = ''): Json => JSON.parse(Buffer.from(part, 'base64url').toString());

/** For tests: what a token says. */
export function tokenParts(token: string) {
  const [head = '', body = '', signature = ''] = token.split('.');
  return { head, body, signature, header: decode(head), claims: decode(body) };
}

/**
 * For tests: tokens like `token` that must be refused, each with what is wrong with it. `key`: the one that signs this
 * kind, so that all but the fault named is right. `genuine` is signed here as well and faultless.
 */
export function forgeriesOf(token: string, { key, secret, now }: { key: Buffer; secret: string; now: Date }) {
  const { head, body, signature, header, claims } = tokenParts(token);
  const seconds = Math.floor(now.getTime() / 1_000);
  const signed = (top: unknown, content: unknown, by: string | Buffer = key, hash = 'sha256') => {
    const text = `${encode(top)}.${encode(content)}`;
    return `${text}.${createHmac(hash, by).update(text).digest('base64url')}`;
  };
  const without = (name: string) => Object.fromEntries(Object.entries(claims).filter(([known]) => known !== name));
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const byRsa = `${encode({ ...header, alg: 'RS256' })}.${body}`;

  const forged: [fault: string, token: string][] = [
    ['alg none', `${encode({ ...header, alg: 'none' })}.${body}.`],
    ['alg None, signed', signed({ ...header, alg: 'None' }, claims)],
    ['alg HS512', signed({ ...header, alg: 'HS512' }, claims, key, 'sha512')],
    ['alg HS512, signed as HS256', signed({ ...header, alg: 'HS512' }, claims)],
    ['alg RS256, signed by RSA', `${byRsa}.${sign('sha256', Buffer.from(byRsa), privateKey).toString('base64url')}`],
    [
      'alg RS256, HMAC of the public key',
      signed({ ...header, alg: 'RS256' }, claims, publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    ],
    ['no alg', signed({ typ: header.typ }, claims)],
    ['another typ', signed({ ...header, typ: 'cache+jwt' }, claims)],
    ['no typ', signed({ alg: header.alg }, claims)],
    ['a kid path, another key', signed({ ...header, kid: '../../dev/null' }, claims, '')],
    ['a key of its own in the head', signed({ ...header, jwk: { kty: 'oct', k: encode('mine') } }, claims, 'mine')],
    ['crit', signed({ ...header, crit: ['x'], x: 1 }, claims)],
    ['exp past', signed(header, { ...claims, exp: seconds - 1 })],
    ['exp now', signed(header, { ...claims, exp: seconds })],
    ['no exp', signed(header, without('exp'))],
    ['exp as text', signed(header, { ...claims, exp: String(claims.exp) })],
    ['no iat', signed(header, without('iat'))],
    ['nbf future', signed(header, { ...claims, nbf: seconds + 60 })],
    ['another iss', signed(header, { ...claims, iss: 'somebody' })],
    ['no iss', signed(header, without('iss'))],
    ['no sub', signed(header, without('sub'))],
    ['sub that is no id', signed(header, { ...claims, sub: 'admin' })],
    ['another secret', signed(header, claims, 'another secret of thirty-two bytes')],
    ['the bare secret', signed(header, claims, secret)],
    ['an empty secret', signed(header, claims, '')],
    ['a changed claim', `${head}.${encode({ ...claims, sub: randomUUID() })}.${signature}`],
    ['a changed signature', `${head}.${body}.${signature.slice(0, -4)}AAAA`],
    ['an empty signature', `${head}.${body}.`],
    ['no signature', `${head}.${body}`],
    ['a part too many', `${token}.${signature}`],
    ['no JSON', `${head}.${Buffer.from('{').toString('base64url')}.${signature}`],
    ['nothing', '..'],
  ];
  return { genuine: signed(header, { ...claims, more: 1 }), forged, signed };
}
