// Bundles the service in the current folder into dist/main.js, for its image: `pnpm build`.
import { build } from 'esbuild';

await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/main.js',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  // Native and data packages are loaded from node_modules beside the bundle.
  external: ['@node-rs/argon2', '@ip-location-db/*'],
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});
