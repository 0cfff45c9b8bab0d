import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { crawlerTest } from './crawlers.ts';
import { detectClient } from './detect-client.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const known = (text = '') => (text === '-' ? '' : text);
const table = read('./user-agents.tsv')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t'))
  .map(([browser, os, device, userAgent = '']) => ({
    userAgent,
    client: { browser: known(browser), os: known(os), device },
  }));

test.each(table)('$client.browser on $client.os ($client.device): $userAgent', ({ userAgent, client }) => {
  expect(detectClient(userAgent)).toEqual(client);
  expect(crawlerTest('crawlers')(userAgent)).toBe(false);
});

test('every name that is given stands in docs/clients.md', () => {
  const documented = read('../../../../docs/clients.md').replaceAll(/\s+/g, ' ');
  const names = new Set(table.flatMap(({ client }) => [client.browser, client.os]));
  const undocumented = [...names].filter((name) => !new RegExp(`(^|[,:;(] ?)${name}[,.;) ]`).test(documented));
  expect(undocumented).toEqual([]);
});

test('a product has one name, however its User-Agent spells it', () => {
  const names = new Set(table.flatMap(({ client }) => [client.browser, client.os]));
  expect(new Set([...names].map((name) => name.toLowerCase())).size).toBe(names.size);
});

test.each(['a '.repeat(256), 'Mozilla/5.0 ('.repeat(40), `${'Android '.repeat(64)}`, `iphone os ${'1_'.repeat(240)}`])(
  'hostile text is detected like any other: %.20s',
  (userAgent) => {
    expect(['desktop', 'mobile', 'tablet']).toContain(detectClient(userAgent).device);
  },
);
