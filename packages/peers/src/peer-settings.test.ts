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
  'eu=https://eu.example:99999',
  'eu=https://eu example',
  'eu=https://me:password@eu.example',
])('%s names no region', (text) => {
  expect(PeerSettings.safeParse({ PEERS: text }).error?.issues.map(({ message }) => message)).toEqual([
    'must be like eu=https://eu.example.com,us=https://us.example.com',
  ]);
});

test('a short secret is refused', () => {
  expect(PeerSettings.safeParse({ PEER_SECRET: 'x'.repeat(31) }).success).toBe(false);
});

test('a region that is named twice has no one address', () => {
  const PEERS = 'eu=https://a.example,us=https://us.example,eu=https://b.example';
  expect(PeerSettings.safeParse({ PEERS }).error?.issues.map(({ message }) => message)).toEqual(['names eu twice']);
});

test('where there is another region a secret is needed, and named', () => {
  const Config = withPeerSecret(z.object({ REGION: z.string(), PORT: z.string(), ...PeerSettings.shape }));
  const PEER_SECRET = 'x'.repeat(32);
  const PEERS = 'us=https://us.example,eu=https://eu.example';
  const own = 'us=https://us.example';
  for (const fit of [{}, { PEERS: own }, { PEERS, PEER_SECRET }])
    expect(Config.safeParse({ REGION: 'us', PORT: '', ...fit }).success).toBe(true);
  const faults = (env: object) =>
    Config.safeParse({ REGION: 'us', PORT: '', PEERS, ...env }).error?.issues.map(({ path, message }) => [
      path[0],
      message,
    ]);
  const missing = ['PEER_SECRET', 'is required where PEERS names another region'];
  expect(faults({})).toEqual([missing]);
  expect(faults({ PORT: undefined })).toEqual([['PORT', expect.any(String)], missing]);
  for (const env of [{ REGION: undefined }, { PEERS: 'eu' }, { PEER_SECRET: 'short' }])
    expect(faults(env)).toEqual([[Object.keys(env)[0], expect.any(String)]]);
});
