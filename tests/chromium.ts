import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Where a Chromium is; installs Debian's package when there is none and this is Debian or Ubuntu and root.
 * @throws with what to install otherwise: a browser test that cannot run is a failure, not a skip
 */
export function findOrInstallChromium(): string {
  const found = places.find(existsSync);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`The browser tests need Chromium at one of ${places.join(', ')}: install your system's package.`);
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', 'chromium'],
  ]) {
    const { status, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed: ${stderr}`);
  }
  const installed = places.find(existsSync);
  if (installed === undefined)
    throw new Error('the package chromium is installed, but no browser is where it should be');
  return installed;
}
