import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './processes.ts';

/**
 * Makes what an image of the service holds, in a folder that knows nothing of the repository: its bundle and the
 * packages it asks for. As deploy/Dockerfile does, but with the packages of the repository instead of npm's: tests need
 * no network.
 */
export async function makeServiceImage(service: string, image: string): Promise<void> {
  const folder = join(root, 'services', service);
  await promisify(execFile)(process.execPath, ['../../scripts/bundle.mjs', image], { cwd: folder });
  const { dependencies } = JSON.parse(readFileSync(join(image, 'package.json'), 'utf8'));
  const packages = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));
  for (const name of Object.keys(dependencies)) {
    const installed = [folder, root, ...packages].map((at) => join(at, 'node_modules', name)).find(existsSync);
    if (installed === undefined) throw new Error(`${name} is not installed`);
    const place = join(image, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(realpathSync(installed), place);
  }
}
