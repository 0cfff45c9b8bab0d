import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import { createRegistry } from './registry.ts';

const packageDir = dirname(dirname(fileURLToPath(import.meta.url)));
const committed = join(packageDir, 'postgres-migrations');
let workDir: string;

beforeAll(() => {
  workDir = mkdtempSync(join(tmpdir(), 'meridian-migrations-'));
});
afterAll(() => rmSync(workDir, { recursive: true }));

/** Every file below `dir` with its text. */
const contentOf = (dir: string) =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(dir, path), readFileSync(path, 'utf8')]),
  );

test('the committed migrations are exactly what the schema says', () => {
  cpSync(committed, workDir, { recursive: true });
  // Trap: drizzle-kit puts './' before --out, so an absolute path does not work.
  const out = relative(packageDir, workDir);
  const options = ['--dialect', 'postgresql', '--schema', './src/schema.ts', '--out', out];
  execFileSync('node_modules/.bin/drizzle-kit', ['generate', ...options], { cwd: packageDir, stdio: 'pipe' });
  expect(contentOf(workDir)).toEqual(contentOf(committed));
});

test('migrating twice, and twice at the same time, leaves a registry that works', async () => {
  const database = await createPostgresDatabase();
  await Promise.all([migrate(database.url), migrate(database.url)]);
  await migrate(database.url);
  const registry = createRegistry(database.url);
  expect(await registry.countUsers()).toBe(0);
  await registry.close();
  await database.drop();
});
