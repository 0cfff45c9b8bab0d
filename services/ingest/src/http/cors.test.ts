import { expect, test } from 'vitest';
import { corsHeaders, preflightHeaders } from './cors.ts';

const asObject = (pairs: string[]) =>
  Object.fromEntries(pairs.flatMap((name, i) => (i % 2 === 0 ? [[name, pairs[i + 1]]] : [])));

test.each(['https://shop.example', 'http://localhost:8080', 'null'])('the origin %s is echoed', (origin) => {
  expect(asObject(corsHeaders(origin))).toMatchObject({
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
  });
});

test.each([
  [undefined, 'content-type, x-umami-cache'],
  ['content-type', 'content-type, x-umami-cache'],
  ['Content-Type, X-Umami-Cache, x-custom', 'Content-Type, X-Umami-Cache, x-custom'],
])('asked for %s, a preflight allows %s', (requested, allowed) => {
  const headers = requested === undefined ? {} : { 'access-control-request-headers': requested };
  expect(asObject(preflightHeaders(headers))).toEqual({
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': allowed,
    'access-control-max-age': '86400',
  });
});
