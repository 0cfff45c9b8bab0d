// Bundles the service in the current folder into `dist`, or into the folder that is given: all that its image needs.
// Run by `npm run build`.
//
//   dist/bin/main.js        and, where the bundle looks at migrations, these in dist/*-migrations; where it has the API page, dist/swagger-ui
//   dist/package.json       the few packages that cannot be in a bundle; `npm install --omit=dev` in dist brings them
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const [outdir = 'dist'] = process.argv.slice(2);
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const { name, version, dependencies } = readJson('package.json');

/**
 * Native code and data files are loaded from node_modules beside the bundle. The latter are named in package.json only,
 * not imported.
 */
const native = ['@node-rs/argon2', 'lz4-napi'];
const dataFiles = Object.keys(dependencies).filter((name) => name.startsWith('@ip-location-db/'));

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  metafile: true,
  entryPoints: ['src/main.ts'],
  outdir: `${outdir}/bin`,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  external: [...native, 'pg-native'], // pg does without pg-native
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});

// The code finds its migrations one folder above itself: packages/x/src there, dist/bin here.
if ('../../packages/registry/src/migrate.ts' in metafile.inputs) {
  for (const folder of ['registry/postgres-migrations', 'warehouse/clickhouse-migrations'])
    cpSync(`../../packages/${folder}`, `${outdir}/${folder.split('/')[1]}`, { recursive: true });
}

// So it finds, of the library of the API page, the few files that the page needs; the package has many more.
if ('src/routes/docs.ts' in metafile.inputs) {
  for (const file of [
    'swagger-ui.css',
    'swagger-ui-bundle.js',
    'swagger-ui-bundle.js.LICENSE.txt',
    'LICENSE',
    'NOTICE',
  ])
    cpSync(`node_modules/swagger-ui-dist/${file}`, `${outdir}/swagger-ui/${file}`);
}

const catalog = readFileSync('../../pnpm-workspace.yaml', 'utf8');
const versionOf = (name) => catalog.match(new RegExp(`^ +"?${name}"?: (.+)$`, 'm'))[1];
const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map(({ path }) => path));
const unbundled = [...dataFiles, ...native.filter((name) => imported.includes(name))];
const versions = unbundled.map((name) => [name, versionOf(name)]);
const manifest = { name, version, private: true, type: 'module', dependencies: Object.fromEntries(versions) };
writeFileSync(`${outdir}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
