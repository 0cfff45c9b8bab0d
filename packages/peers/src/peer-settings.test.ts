import { expect, test } from 'vitest';
import { z } from 'zod';
import { PeerSettings, withPeerSecret } from './peer-settings.ts';

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

test('a region that is named twice has no one address', () => {
  const PEERS = 'eu=https://a.example,us=https://us.example,eu=https://b.example';
  expect(PeerSettings.safeParse({ PEERS }).error?.issues.map(({ message }) => message)).toEqual(['names eu twice']);
});

test('where there is another region a secret is needed, and named', () => {
  const Config = withPeerSecret(z.object({ REGION: z.string(), ...PeerSettings.shape }));
  const PEER_SECRET = 'x'.repeat(32);
  const PEERS = 'us=https://us.example,eu=https://eu.example';
  const own = 'us=https://us.example';
  for (const fit of [{}, { PEERS: own }, { PEERS, PEER_SECRET }])
    expect(Config.safeParse({ REGION: 'us', ...fit }).success).toBe(true);
  expect(Config.safeParse({ REGION: 'us', PEERS }).error?.issues).toMatchObject([
    { path: ['PEER_SECRET'], message: 'is required where PEERS names another region' },
  ]);
});
