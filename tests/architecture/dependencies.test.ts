import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What each part may import of the repository's own packages, beside itself. Tests may import whatever they test. */
const allowed: Record<string, string[]> = {
  'packages/contract': [],
  'packages/runtime': ['contract'],
  'packages/queue': [],
  'packages/registry': [],
  'packages/warehouse': [],
  'packages/embedded': [],
  'services/ingest': ['contract', 'runtime', 'queue', 'registry'],
  'services/worker': ['contract', 'runtime', 'queue', 'registry', 'warehouse'],
  'services/query': ['contract', 'runtime', 'queue', 'registry', 'warehouse'],
  'services/standalone': [
    ...['contract', 'runtime', 'queue', 'registry', 'warehouse', 'embedded'],
    ...['ingest', 'worker', 'query'],
  ],
};

/** Libraries with one owner, so that what they bring (SQL, row types, keys) stays in one place. */
const owners: Record<string, string[]> = {
  'drizzle-orm': ['packages/registry'],
  pg: ['packages/registry'],
  postgres: ['packages/embedded'],
  '@clickhouse/client': ['packages/warehouse', 'packages/embedded'],
  bullmq: ['packages/queue'],
  chdb: ['packages/embedded'],
  'ffi-rs': ['packages/embedded'],
};

/** Tests and what only they use: real stores, events made up, processes started. */
const forTests = /(\.test|\/test-(?!stores)[\w-]+|-fixtures?|\/reference\/[\w-]+)\.ts$/;

type Import = { file: string; part: string; specifier: string };

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : sourceFiles(path);
    return /\.[cm]?ts$/.test(entry.name) ? [path] : [];
  });
}

const parts = Object.keys(allowed);
const productFiles = parts.flatMap((part) =>
  sourceFiles(join(root, part, 'src'))
    .filter((file) => !forTests.test(file))
    .map((file) => ({ file: relative(root, file), part, text: readFileSync(file, 'utf8') })),
);
const imports: Import[] = productFiles.flatMap(({ file, part, text }) =>
  [...text.matchAll(/(?:from|import|require\.resolve)\s*\(?\s*['"]([^'"]+)['"]/g)].map((match) => ({
    file,
    part,
    specifier: match[1] ?? '',
  })),
);
const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

test('the check sees the code: every part has source files and imports are found', () => {
  for (const part of parts)
    expect(
      productFiles.some((file) => file.part === part),
      part,
    ).toBe(true);
  expect(imports.length).toBeGreaterThan(100);
});

test('parts import only what their place in the architecture allows', () => {
  const wrong = imports.filter(({ part, specifier }) => {
    const own = /^@meridian\/([^/]+)/.exec(specifier)?.[1];
    return own !== undefined && part !== `services/${own}` && !allowed[part]?.includes(own);
  });
  expect(wrong).toEqual([]);
});

test('relative imports never leave their part', () => {
  const wrong = imports.filter(({ file, part, specifier }) => {
    if (!specifier.startsWith('.')) return false;
    return !relative(root, join(root, file, '..', specifier)).startsWith(`${part}/`);
  });
  expect(wrong).toEqual([]);
});

test('the product never imports what is for tests', () => {
  expect(imports.filter(({ specifier }) => forTests.test(specifier.replace(/(\.ts)?$/, '.ts')))).toEqual([]);
});

test('each storage library has one owner', () => {
  const wrong = imports.filter(({ part, specifier }) => {
    const owner = owners[packageOf(specifier)];
    return owner !== undefined && !owner.includes(part);
  });
  expect(wrong).toEqual([]);
});

test('what a part imports is declared in its own package.json', () => {
  const wrong = imports.filter(({ part, specifier }) => {
    if (specifier.startsWith('.') || specifier.startsWith('node:')) return false;
    const {
      name,
      dependencies = {},
      optionalDependencies = {},
    } = JSON.parse(readFileSync(join(root, part, 'package.json'), 'utf8'));
    const wanted = packageOf(specifier);
    return wanted !== name && !(wanted in dependencies) && !(wanted in optionalDependencies);
  });
  expect(wrong).toEqual([]);
});

test('the images of the services stay small: embedded stores are a dependency of standalone alone', () => {
  for (const part of parts.filter((name) => name !== 'services/standalone' && name !== 'packages/embedded')) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, part, 'package.json'), 'utf8'));
    expect(Object.keys(dependencies), part).not.toContain('@meridian/embedded');
  }
});

test('there are no barrels and no folders that hide what they hold', () => {
  const vague = /(^|\/)(utils?|common|shared|helpers?|misc|lib)(\/|\.ts$)/;
  expect(productFiles.map(({ file }) => file).filter((file) => /\/index\.ts$/.test(file) || vague.test(file))).toEqual(
    [],
  );
});

test('the environment is read in a main.ts only', () => {
  const readers = productFiles.filter(({ text }) => /process\.env\b/.test(text)).map(({ file }) => file);
  const entries = /\/(main|migrate|global-setup|test-stores)\.ts$/;
  expect(readers.filter((file) => !entries.test(file))).toEqual([]);
});

test('no row type of the ORM leaves the registry', () => {
  const leaking = productFiles.filter(({ file, text }) => {
    return (
      file.startsWith('packages/registry') && /export (type|function|const)[^;{]*\$infer(Select|Insert)/.test(text)
    );
  });
  expect(leaking.map(({ file }) => file)).toEqual([]);
});

test('every folder of the plan exists', () => {
  for (const folder of ['services', 'packages', 'infra', 'deploy', 'tests'])
    expect(statSync(join(root, folder)).isDirectory(), folder).toBe(true);
});
