import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The secret that signs tokens when `APP_SECRET` is not given: made at the first start and kept in the data directory,
 * readable by its owner only. A lost file ends all sessions and makes anonymous visitors new; no data is lost.
 */
export async function keepAppSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, 'app-secret');
  try {
    const secret = (await readFile(file, 'utf8')).trim();
    if (secret.length >= 32) return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = randomBytes(32).toString('base64url');
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  return secret;
}
