import { ensureAdministrator, newAdministrator } from '@meridian/query/auth/ensure-administrator';
import type { Registry } from '@meridian/registry/registry';
import { RegistryError } from '@meridian/registry/registry-error';
import type { StandaloneConfig } from './config.ts';

/** Who can log in as ADMIN_USERNAME, with the password if it was made just now. */
export type Administrator = { generatedPassword?: string | undefined };

/**
 * Makes the administrator at the first start. Null: no administrator has that name, and on cloud, where there are no
 * logins.
 */
export async function findAdministrator(
  registry: Registry,
  config: Pick<StandaloneConfig, 'MODE' | 'ADMIN_USERNAME' | 'ADMIN_PASSWORD' | 'REGION'>,
): Promise<Administrator | null> {
  if (config.MODE === 'cloud') return null;
  const { ADMIN_USERNAME: username, ADMIN_PASSWORD: password, REGION: homeRegion } = config;
  const administrator = newAdministrator({ username, password, homeRegion });
  const ensure = () => ensureAdministrator(registry, administrator);
  const { created, generatedPassword } = await ensure().catch((error: unknown) => {
    // What was given up may have made the account all the same, with a password that the next start does not know.
    if (error instanceof RegistryError && error.kind === 'unavailable') return ensure();
    throw error;
  });
  if (!created && (await registry.findUserByUsername(username))?.role !== 'admin') return null;
  return { generatedPassword };
}
