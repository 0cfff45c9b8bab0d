import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CliConfig, findAddresses } from './config.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'meridian-cli-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function noteRunning(text: string): void {
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'run', 'stores.json'), text);
}

const addresses = (env: Record<string, string> = {}) => findAddresses(CliConfig.parse({ DATA_DIR: dataDir, ...env }));

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
