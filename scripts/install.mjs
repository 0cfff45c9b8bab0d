// Brings node_modules in line with the lock file. Runs before `npm start` and `npm test`; takes a few milliseconds when
// nothing changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Meridian needs Node ${engines.node}; this is ${process.versions.node}.`);
  process.exit(1);
}

const stampFile = join(root, 'node_modules', '.installed-lock');
const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'pnpm-lock.yaml')))
  .digest('hex');
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) process.exit(0);

console.error('Installing packages (once, about a minute) …');
const pnpm = spawnSync(process.execPath, [join(root, 'scripts', 'pnpm.mjs'), 'install', '--frozen-lockfile'], {
  encoding: 'utf8',
});
if (pnpm.status !== 0) {
  console.error(pnpm.stdout, pnpm.stderr);
  console.error('Installing packages failed; see above.');
  process.exit(1);
}
writeFileSync(stampFile, wanted);
