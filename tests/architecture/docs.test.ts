import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliConfig } from '@meridian/cli/config';
import { usage } from '@meridian/cli/usage';
import { IngestConfig } from '@meridian/ingest/config';
import { QueryEnvironment } from '@meridian/query/config';
import { TracingConfig } from '@meridian/runtime/tracing';
import { StandaloneConfig } from '@meridian/standalone/config';
import { WorkerConfig } from '@meridian/worker/config';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = [
  ...['README.md', 'ARCHITECTURE.md', 'DECISIONS.md', 'CONTRIBUTING.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];
const settings = [
  ...new Set(
    [CliConfig, IngestConfig, QueryEnvironment, StandaloneConfig, TracingConfig, WorkerConfig].flatMap((config) =>
      Object.keys(config.shape),
    ),
  ),
];

test('every path that a document names exists', () => {
  for (const document of documents) {
    const paths = read(document).matchAll(
      /(?<![\w./-])((?:services|packages|infra|deploy|tests|docs|scripts)\/[\w./-]*\w)/g,
    );
    for (const [path] of paths) expect(existsSync(join(root, path)), `${document}: ${path}`).toBe(true);
  }
});

test('every command that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json'));
  for (const document of documents) {
    for (const [, name] of read(document).matchAll(/\b(?:pnpm|npm run(?: --silent)?) ([a-z]+(?::[a-z]+)*)/g)) {
      expect(Object.keys(scripts), `${document}: ${name}`).toContain(name);
    }
  }
});

test('every use of the meridian command that a document shows is in its usage', () => {
  const shown = documents.flatMap((document) =>
    [...read(document).matchAll(/\b(?:npx|pnpm) meridian ([a-z]+(?:-[a-z]+)*(?: [a-z]+)?)/g)].map(
      ([, words = '']) => words,
    ),
  );
  expect(shown.length).toBeGreaterThan(5);
  for (const words of shown) expect(usage).toMatch(new RegExp(`^  ${words}\\b`, 'm'));
});

const sourceFiles = ['packages', 'services']
  .flatMap((folder) => readdirSync(join(root, folder)).map((part) => join(folder, part, 'src')))
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  );

test('every setting is in .env.example and in the README, and nothing else is', () => {
  const inExample = [...read('.env.example').matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  const inReadme = [...read('README.md').matchAll(/^\| `([A-Z][A-Z0-9_]+)`/gm)].map(([, name]) => name);
  expect(inExample.sort()).toEqual([...settings].sort());
  expect(inReadme.sort()).toEqual([...settings].sort());
});

/** A comment's lines as one. */
const withoutLineBreaks = (code: string) => code.replaceAll(/\n *(?:\*|\/\/) /g, ' ');

test('a section that the code names as its source exists', () => {
  const sections = [...read('docs/semantics.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  const named = sourceFiles.flatMap((file) =>
    [...withoutLineBreaks(read(file)).matchAll(/docs\/semantics\.md "([^"]+)"/g)].map(([, section]) => ({
      file,
      section,
    })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ section }) => !sections.includes(section ?? ''))).toEqual([]);
});

test('comments are as wide as the code at most, but for what is indented in them', () => {
  const comments = sourceFiles.flatMap((file) =>
    [...read(file).matchAll(/^ *(?:\/\/|\/\*\*|\*) \S.*$/gm)].map(([line]) => line),
  );
  expect(comments.length).toBeGreaterThan(1_000);
  expect(comments.filter((line) => line.length > 120)).toEqual([]);
});
