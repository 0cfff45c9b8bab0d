import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** As long as a secret that signs must be at least. */
const lengthMin = 32;

/**
 * The secret in the file, readable by its owner only; made if absent. It comes there whole, whenever the process is
 * killed or the disk is full; a shorter one is nobody's, and made anew.
 */
export function keepSecret(file: string): string {
  const kept = readIfThere(file).trim();
  if (kept.length >= lengthMin) return kept;
  const secret = randomBytes(32).toString('base64url');
  writeFileSync(`${file}.new`, `${secret}\n`, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
  return secret;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
