import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { noteRegions } from './regions-note.ts';

test('which regions run, and on which registry, is noted without its password until they end', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-note-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const databaseUrl = 'postgres://meridian:secret@db.example.com/meridian?password=secret';
  noteRegions(dataDir, { peers: 'us=http://localhost:1', databaseUrl });
  expect(JSON.parse(readFileSync(join(dataDir, 'run', 'regions.json'), 'utf8'))).toEqual({
    peers: 'us=http://localhost:1',
    databaseUrl: 'postgres://db.example.com/meridian',
  });
  noteRegions(dataDir, null);
  expect(readdirSync(join(dataDir, 'run'))).toEqual([]);
});
