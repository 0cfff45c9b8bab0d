import { expect, test } from 'vitest';
import { PeerSettings } from './peer-settings.ts';

test('regions are named with their addresses', () => {
  expect(PeerSettings.parse({}).PEERS).toEqual(new Map());
  expect(PeerSettings.parse({ PEERS: 'us=https://us.example.com, eu=http://10.0.0.5:3000/,' }).PEERS).toEqual(
    new Map([
      ['us', 'https://us.example.com'],
      ['eu', 'http://10.0.0.5:3000'],
    ]),
  );
});

test.each([
  'eu',
  'eu=',
  '=https://eu.example',
  'EU=https://eu.example',
  'eu=ftp://eu.example',
  'eu=https://eu.example/path',
])('%s names no region', (text) => {
  expect(PeerSettings.safeParse({ PEERS: text }).success).toBe(false);
});

test('a short secret is refused', () => {
  expect(PeerSettings.safeParse({ PEER_SECRET: 'x'.repeat(31) }).success).toBe(false);
});
