// Bundles the service in the current folder for its image: dist/main.js and, where it has one, dist/migrate.js. Run by `pnpm build`.
import { cpSync, existsSync } from 'node:fs';
import { build } from 'esbuild';

const entryPoints = ['src/main.ts', 'src/migrate.ts'].filter(existsSync);

await build({
  entryPoints,
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  // Native and data packages are loaded from node_modules beside the bundle.
  external: ['@node-rs/argon2', '@ip-location-db/*', 'pg-native'],
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});

// The code finds its migrations one folder above itself: packages/x/src there, dist here.
if (entryPoints.includes('src/migrate.ts')) {
  for (const folder of ['registry/postgres-migrations', 'warehouse/clickhouse-migrations'])
    cpSync(`../../packages/${folder}`, folder.split('/')[1], { recursive: true });
}
