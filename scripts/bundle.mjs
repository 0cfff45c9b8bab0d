// Bundles the service in the current folder: `dist` is all that its image needs. Run by `npm run build`.
//
//   dist/bin/main.js        and, where it has one, migrate.js with the migrations in dist/*-migrations
//   dist/package.json       the few packages that cannot be in a bundle; `npm install --omit=dev` in dist brings them
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const { name, version, dependencies } = readJson('package.json');

/** Native code and data files are loaded from node_modules beside the bundle. */
const unbundled = Object.keys(dependencies).filter((name) => /^(@node-rs|@ip-location-db)\//.test(name));
const entryPoints = ['src/main.ts', 'src/migrate.ts'].filter((file) => existsSync(file));

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints,
  outdir: 'dist/bin',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  external: [...unbundled, 'pg-native'], // pg does without pg-native
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});

// The code finds its migrations one folder above itself: packages/x/src there, dist/bin here.
if (entryPoints.includes('src/migrate.ts')) {
  for (const folder of ['registry/postgres-migrations', 'warehouse/clickhouse-migrations'])
    cpSync(`../../packages/${folder}`, `dist/${folder.split('/')[1]}`, { recursive: true });
}

const versions = unbundled.map((name) => [name, readJson(`node_modules/${name}/package.json`).version]);
const manifest = { name, version, private: true, type: 'module', dependencies: Object.fromEntries(versions) };
writeFileSync('dist/package.json', `${JSON.stringify(manifest, null, 2)}\n`);
