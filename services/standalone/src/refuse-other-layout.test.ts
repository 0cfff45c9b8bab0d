import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError } from '@meridian/runtime/process';
import { expect, onTestFinished, test } from 'vitest';
import { refuseOtherLayout } from './refuse-other-layout.ts';

function dataDirWith(...names: string[]): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-layout-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  for (const name of names) mkdirSync(join(dataDir, name), { recursive: true });
  return dataDir;
}

const one = ['postgres', 'clickhouse', 'redis', 'run', 'logs'];
const several = ['registry', 'us', 'eu', 'run'];

test.each([
  ['one', []],
  ['several', []],
  ['one', one],
  ['several', several],
  // Both were begun: each goes on.
  ['one', [...one, ...several]],
  ['several', [...one, ...several]],
] as const)('%s region goes on where its data are, or none: %j', (wanted, names) => {
  expect(() => refuseOtherLayout(dataDirWith(...names), wanted)).not.toThrow();
});

test.each([
  ['one', several, /of several regions.*--regions/],
  ['several', one, /of one region.*without --regions/],
  ['several', ['redis'], /of one region/], // with the other stores elsewhere
] as const)('%s region never begins anew beside the data of the other kind: %j', (wanted, names, why) => {
  const dataDir = dataDirWith(...names);
  const refuse = () => refuseOtherLayout(dataDir, wanted);
  expect(refuse).toThrow(StartError);
  expect(refuse).toThrow(why);
  expect(refuse).toThrow(`${dataDir} (DATA_DIR)`);
});

test('a data directory that is not there yet holds nothing', () => {
  for (const wanted of ['one', 'several'] as const) refuseOtherLayout(join(dataDirWith(), 'none'), wanted);
});
