import { randomUUID } from 'node:crypto';
import { hashPassword, newPassword } from '@meridian/registry/credentials';
import type { Registry } from '@meridian/registry/registry';

/** `isGenerated`: nobody chose the password. */
type NewAdministrator = { id: string; username: string; homeRegion: string; password: string; isGenerated: boolean };

type EnsureAdministratorResult = {
  created: boolean;
  /** To be shown once; only when it was made here. */
  generatedPassword?: string;
};

/** The administrator that a process is to create if there is none: the same in all of its tries. */
export function newAdministrator({
  username,
  password,
  homeRegion,
}: {
  username: string;
  /** Without one it is generated. */
  password?: string | undefined;
  homeRegion: string;
}): NewAdministrator {
  return { id: randomUUID(), username, homeRegion, password: password || newPassword(), isGenerated: !password };
}

/**
 * Creates the administrator on the first start, that is while there is no account at all. Of several processes that
 * start at the same time one creates it.
 */
export async function ensureAdministrator(
  registry: Registry,
  administrator: NewAdministrator,
): Promise<EnsureAdministratorResult> {
  const { id, password, isGenerated } = administrator;
  // Under this id: an earlier try, which went on after it was given up.
  const created = (await isCreated(registry, administrator)) || (await registry.findUserById(id)) !== null;
  return created && isGenerated ? { created, generatedPassword: password } : { created };
}

async function isCreated(
  registry: Registry,
  { id, username, homeRegion, password }: NewAdministrator,
): Promise<boolean> {
  if ((await registry.countUsers()) > 0) return false;
  const passwordHash = await hashPassword(password);
  const { ok } = await registry.createUser(
    { id, username, passwordHash, role: 'admin', homeRegion },
    { userId: null, name: 'first start', keyId: null, requestId: null },
  );
  return ok;
}
