import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { keepSecret } from './kept-secret.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'meridian-secret-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  file = join(directory, 'secret');
});

test('a secret is made once, kept, and readable by its owner only', () => {
  const secret = keepSecret(file);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(keepSecret(file)).toBe(secret);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(['secret']);
});

test('one that was put there is kept as it is', () => {
  writeFileSync(file, `${'x'.repeat(32)}\n`);
  expect(keepSecret(file)).toBe('x'.repeat(32));
});

test.each(['', '\n', 'half a secr'])('what a start that was killed has left is no secret: %j', (rest) => {
  writeFileSync(file, rest);
  writeFileSync(`${file}.new`, rest);
  const secret = keepSecret(file);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(file, 'utf8').trim()).toBe(secret);
});

test('a file that cannot be read is no reason for another secret', () => {
  expect(() => keepSecret(directory)).toThrow('EISDIR');
});
