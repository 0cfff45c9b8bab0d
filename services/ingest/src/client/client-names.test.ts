import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { browserName, systemName } from './client-names.ts';

/** What detection gives for real User-Agents. */
const rows = readFileSync(new URL('./user-agents.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t'));
const given = (column: number) => [...new Set(rows.map((row) => row[column] ?? ''))].filter((name) => name !== '-');

/** A sender's own name for a browser. */
const ownBrowser = (text: string) => browserName(text, '');

test('a name that detection gives is the same product when a sender writes it in other letter case', () => {
  for (const spell of [
    (name: string) => name,
    (name: string) => name.toUpperCase(),
    (name: string) => name.toLowerCase(),
  ]) {
    expect(given(0).map((name) => ownBrowser(spell(name)))).toEqual(given(0));
    expect(given(1).map((name) => systemName(spell(name)))).toEqual(given(1));
  }
});

test('another name of a product becomes the one that counts, an unknown one stays as it is', () => {
  expect(['mobile safari', 'IE', 'internet explorer', 'uc browser', 'My App', ''].map(ownBrowser)).toEqual([
    ...['Safari', 'Internet Explorer', 'Internet Explorer', 'UC Browser', 'My App', ''],
  ]);
  expect(['ubuntu', 'chromium os', 'TVOS', 'My OS', ''].map(systemName)).toEqual([
    ...['Linux', 'Chrome OS', 'tvOS', 'My OS', ''],
  ]);
});
