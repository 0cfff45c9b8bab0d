import { expect, test } from 'vitest';
import { passedHeaders } from './peers.ts';

test('what regions say to each other is never passed on from a client, nor what is about one connection', () => {
  const passed = { authorization: 'Bearer x', 'content-type': 'application/json', accept: '*/*' };
  expect(
    passedHeaders({
      ...passed,
      'x-meridian-peer': 'eu,0,0,,x',
      'x-meridian-identity': 'AA,aaaa',
      'x-meridian-more': '1',
      'x-forwarded-for': '203.0.113.9',
      connection: 'close',
      host: 'eu.example.com',
    }),
  ).toEqual(passed);
});
