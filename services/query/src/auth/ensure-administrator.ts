import { hashPassword, newPassword } from '@meridian/registry/credentials';
import type { Registry } from '@meridian/registry/registry';

type EnsureAdministratorResult = {
  created: boolean;
  /** To be shown once; only when it was made here. */
  generatedPassword?: string;
};

/**
 * Creates the administrator on the first start, that is while there is no account at all. Without a password one is
 * generated. Of several processes that start at the same time one creates it.
 */
export async function ensureAdministrator(
  registry: Registry,
  administrator: { username: string; password?: string | undefined; homeRegion: string },
): Promise<EnsureAdministratorResult> {
  if ((await registry.countUsers()) > 0) return { created: false };
  const { username, homeRegion } = administrator;
  const generatedPassword = administrator.password ? undefined : newPassword();
  const passwordHash = await hashPassword(administrator.password || (generatedPassword ?? ''));
  const { ok: created } = await registry.createUser(
    { username, passwordHash, role: 'admin', homeRegion },
    { userId: null, name: 'first start', keyId: null, requestId: null },
  );
  return created && generatedPassword ? { created, generatedPassword } : { created };
}
