import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What each part may import of the repository's own packages, beside itself. Tests may import whatever they test. */
const allowed: Record<string, string[]> = {
  'packages/contract': [],
  'packages/runtime': ['contract'],
  'packages/queue': ['warehouse'],
  'packages/registry': [],
  'packages/warehouse': [],
  'packages/peers': [],
  'packages/embedded': [],
  'services/ingest': ['contract', 'runtime', 'peers', 'queue', 'registry'],
  'services/worker': ['contract', 'runtime', 'queue', 'registry', 'warehouse'],
  'services/query': ['contract', 'runtime', 'peers', 'queue', 'registry', 'warehouse'],
  'services/cli': ['contract', 'runtime', 'peers', 'queue', 'registry', 'warehouse'],
  'services/standalone': [
    ...['contract', 'runtime', 'peers', 'queue', 'registry', 'warehouse', 'embedded'],
    ...['ingest', 'worker', 'query'],
  ],
};

/** Libraries with one owner, so that what they bring (SQL, row types, keys) stays in one place. */
const owners: Record<string, string[]> = {
  'drizzle-orm': ['packages/registry'],
  pg: ['packages/registry', 'packages/embedded'],
  '@node-rs/argon2': ['packages/registry'],
  '@clickhouse/client': ['packages/warehouse'],
  undici: ['packages/warehouse', 'packages/peers'],
  bullmq: ['packages/queue'],
  chdb: ['packages/embedded'],
  'ffi-rs': ['packages/embedded'],
};

/** Tests and what only they use: real stores, events made up, processes started. */
const forTests = /(\.test|\/test-[\w-]+|\/testcontainers-stores|\/global-setup|-fixtures?|\/reference\/[\w-]+)\.ts$/;

type Import = { file: string; part: string; specifier: string };

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : sourceFiles(path);
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : [];
  });
}

const parts = Object.keys(allowed);
const productFiles = parts.flatMap((part) =>
  sourceFiles(join(root, part, 'src'))
    .filter((file) => !forTests.test(file))
    .map((file) => ({ file: relative(root, file), part, text: readFileSync(file, 'utf8') })),
);
const specifiersIn = (text: string) =>
  [...text.matchAll(/(?<![.\w'])(?:from|import|require\.resolve)\s*\(?\s*['"]([^'"]+)['"]/g)].map(
    ([, specifier = '']) => specifier,
  );
const imports: Import[] = productFiles.flatMap(({ file, part, text }) =>
  specifiersIn(text).map((specifier) => ({ file, part, specifier })),
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

test('of the warehouse queue takes the row alone, which asks for no library: a collector brings nothing of ClickHouse along', () => {
  const ofWarehouse = (file: string) => imports.filter((one) => one.file === `packages/warehouse/src/${file}.ts`);
  const taken = imports.filter(({ part, specifier }) => part === 'packages/queue' && /warehouse/.test(specifier));
  expect(new Set(taken.map(({ specifier }) => specifier))).toEqual(new Set(['@meridian/warehouse/event-row']));
  expect(ofWarehouse('event-row').map(({ specifier }) => specifier)).toEqual(['./row-binary.ts']);
  expect(ofWarehouse('row-binary')).toEqual([]);
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

/** Whether one of the texts imports the package or names a file of it. */
const uses = (texts: string[], name: string) =>
  texts.some((text) => text.includes(`'${name}/`) || specifiersIn(text).map(packageOf).includes(name));

test('what a part declares is imported: dependencies by the product, the others by a test or a tool of the part', () => {
  const unused = [...parts, 'tests'].flatMap((part) => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(
      readFileSync(join(root, part, 'package.json'), 'utf8'),
    );
    const product = productFiles.filter((file) => file.part === part).map(({ text }) => text);
    const everything = sourceFiles(join(root, part)).map((file) => readFileSync(file, 'utf8'));
    return [
      ...Object.keys(dependencies).filter((name) => !uses(product, name)),
      ...Object.keys(devDependencies).filter((name) => !uses(everything, name.replace('@types/', ''))),
    ].map((name) => `${part}: ${name}`);
  });
  expect(unused).toEqual([]);
});

test('every version in the catalog is used', () => {
  const catalog =
    readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')
      .split(/^catalog:$/m)[1]
      ?.split(/\n(?=\S)/)[0] ?? '';
  const names = [...catalog.matchAll(/^ {2}"?([^":]+)"?:/gm)].map(([, name = '']) => name);
  const declared = ['.', 'tests', ...parts]
    .map((part) => readFileSync(join(root, part, 'package.json'), 'utf8'))
    .join();
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !declared.includes(`"${name}": "catalog:"`))).toEqual([]);
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
  const entries = /\/main\.ts$/;
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
