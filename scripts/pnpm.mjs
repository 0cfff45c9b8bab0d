// Runs the pnpm that package.json names, with the arguments given. Only Node and npm have to be installed.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const { status, error } = spawnSync('npx', ['--yes', packageManager, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  // npm run sets npm_config_* for npm; pnpm must not inherit them.
  env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))),
});
if (error) console.error(error.message);
process.exit(status ?? 1);
