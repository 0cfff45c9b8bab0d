import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@meridian/runtime/config';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CliConfig, findInstallation } from './config.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'meridian-cli-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function note(folder: string, name: string, text: string): void {
  const run = join(dataDir, folder, 'run');
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, name), text);
}
const noteRunning = (text: string, folder = '.') => note(folder, 'stores.json', text);

const installation = (env: Record<string, string> = {}) =>
  findInstallation(CliConfig.parse({ DATA_DIR: dataDir, ...env }));
const addresses = (env: Record<string, string> = {}) => installation(env).addresses;

test('an address of the environment counts; the others are those of the stores that run on the data directory', () => {
  noteRunning(JSON.stringify({ redisUrl: 'redis://:p@127.0.0.1:1', databaseUrl: 'postgres://u:p@127.0.0.1:2/m' }));
  const found = addresses({ REDIS_URL: 'redis://elsewhere:3' });
  expect([found.redis(), found.database()]).toEqual(['redis://elsewhere:3', 'postgres://u:p@127.0.0.1:2/m']);
});

test('a store that is nowhere is told with the variable and the data directory', () => {
  expect(() => addresses().clickhouse()).toThrow(`CLICKHOUSE_URL is not set, and no such store runs on`);
  expect(() => addresses().clickhouse()).toThrow(dataDir);
  noteRunning('{}');
  expect(() => addresses().clickhouse()).toThrow('CLICKHOUSE_URL');
});

test('a note that makes no sense is told with its file', () => {
  noteRunning('{"redisUrl":');
  expect(() => addresses().redis()).toThrow('stores.json cannot be read');
});

test('without several regions on the data directory the known ones are that of REGION and those in PEERS', () => {
  const PEERS = 'us=https://us.example.com,eu=https://eu.example.com';
  expect(installation().regions).toEqual(['us']);
  expect(installation().region()).toBe('us');
  const { regions, region } = installation({ REGION: 'ap', PEERS });
  expect([regions, region()]).toEqual([['ap', 'us', 'eu'], 'ap']);
});

describe('several regions that run on the data directory', () => {
  const databaseUrl = 'postgres://u:p@127.0.0.1:2/m';
  beforeEach(() => {
    const peers = 'us=http://localhost:1,eu=http://localhost:2';
    note('.', 'regions.json', JSON.stringify({ peers, databaseUrl: 'postgres://127.0.0.1:2/m' }));
    writeFileSync(join(dataDir, 'peer-secret'), 'a secret between regions, long enough\n');
    noteRunning(JSON.stringify({ databaseUrl }), 'registry');
    noteRunning(JSON.stringify({ redisUrl: 'redis://:p@127.0.0.1:3', clickhouseUrl: 'http://u:p@127.0.0.1:4' }), 'eu');
  });

  test('are known, and the stores are those of the region that is named', () => {
    const { regions, peers, region } = installation({ REGION: 'eu' });
    expect([regions, region()]).toEqual([['us', 'eu'], 'eu']);
    expect(peers.PEERS.get('eu')).toBe('http://localhost:2');
    expect(peers.PEER_SECRET).toBe('a secret between regions, long enough');
    const found = addresses({ REGION: 'eu' });
    expect([found.database(), found.redis(), found.clickhouse()]).toEqual([
      databaseUrl,
      'redis://:p@127.0.0.1:3',
      'http://u:p@127.0.0.1:4',
    ]);
    expect(() => addresses({ REGION: 'us' }).redis()).toThrow(join(dataDir, 'us'));
  });

  test('have to be chosen from where one is needed, and only there', () => {
    for (const [env, fault] of [
      [{}, 'No region is named'],
      [{ REGION: 'mars' }, 'mars is none of them'],
    ] as const) {
      expect(addresses(env).database()).toBe(databaseUrl);
      expect(addresses({ ...env, REDIS_URL: 'redis://elsewhere:3' }).redis()).toBe('redis://elsewhere:3');
      for (const ask of [addresses(env).redis, addresses(env).clickhouse, installation(env).region]) {
        expect(ask).toThrow(ConfigError);
        expect(ask).toThrow(fault);
        expect(ask).toThrow('us, eu');
      }
    }
  });

  test('are not those of another installation, whose registry is in the environment', () => {
    const { regions, region } = installation({ DATABASE_URL: 'postgres://elsewhere:5/m' });
    expect([regions, region()]).toEqual([['us'], 'us']);
    expect(installation({ DATABASE_URL: databaseUrl }).regions).toEqual(['us', 'eu']);
  });

  test('are told from another installation too where their own registry is no embedded one, whoever asks it', () => {
    noteRunning('{}', 'registry');
    for (const elsewhere of [
      'postgres://u:p@127.0.0.1:2/other',
      'postgres://u:p@127.0.0.1:3/m',
      'postgres://elsewhere/m',
    ])
      expect(installation({ DATABASE_URL: elsewhere, REGION: 'ap' }).regions, elsewhere).toEqual(['ap']);
    for (const here of [databaseUrl, 'postgresql://other:secret@127.0.0.1:2/m?sslmode=disable'])
      expect(installation({ DATABASE_URL: here }).regions, here).toEqual(['us', 'eu']);
  });
});
