import { expect, test } from 'vitest';
import { createClientProfiles, toUserAgent } from './client-profile.ts';

test('a User-Agent is detected once', () => {
  const profileOf = createClientProfiles('crawlers');
  expect(profileOf('curl/8.5.0')).toBe(profileOf('curl/8.5.0'));
  expect(profileOf('Googlebot/2.1').isCrawler).toBe(true);
});

test('blank is nothing, and a huge one is cut before any pattern sees it', () => {
  expect([undefined, '', '   ', ' curl/8 '].map(toUserAgent)).toEqual(['', '', '', 'curl/8']);
  expect(toUserAgent('x'.repeat(64_000))).toHaveLength(512);
});
