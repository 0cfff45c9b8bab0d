import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { verifyPassword } from '@meridian/registry/credentials';
import { RegistryError } from '@meridian/registry/registry-error';
import { createTestRegistry } from '@meridian/registry/registry-fixtures';
import { expect, test } from 'vitest';
import { ensureAdministrator, newAdministrator } from './ensure-administrator.ts';

const withRegistry = async (work: (t: Awaited<ReturnType<typeof createTestRegistry>>) => Promise<void>) => {
  const t = await createTestRegistry(await createPostgresDatabase());
  await work(t).finally(t.close);
};

test('the first start creates the administrator with a generated password, later starts change nothing', () =>
  withRegistry(async ({ registry }) => {
    const first = await ensureAdministrator(registry, newAdministrator({ username: 'admin', homeRegion: 'us' }));
    const user = await registry.findUserByUsername('admin');
    expect(user?.role).toBe('admin');
    expect(first.created).toBe(true);
    expect(first.generatedPassword).toMatch(/^[A-Za-z0-9]{20}$/);
    expect(await verifyPassword(user?.passwordHash, first.generatedPassword ?? '')).toBe(true);
    const other = newAdministrator({ username: 'other', password: 'long enough', homeRegion: 'us' });
    expect(await ensureAdministrator(registry, other)).toEqual({ created: false });
    expect(await registry.countUsers()).toBe(1);
  }));

test('a given password is used and not told', () =>
  withRegistry(async ({ registry }) => {
    const administrator = newAdministrator({ username: 'root', password: 'given password', homeRegion: 'us' });
    expect(await ensureAdministrator(registry, administrator)).toEqual({ created: true });
    const user = await registry.findUserByUsername('root');
    expect(await verifyPassword(user?.passwordHash, 'given password')).toBe(true);
  }));

test('of several processes that start together one creates it', () =>
  withRegistry(async ({ registry }) => {
    const start = () => ensureAdministrator(registry, newAdministrator({ username: 'admin', homeRegion: 'us' }));
    const results = await Promise.all([start(), start(), start()]);
    expect(results.filter((result) => result.created)).toHaveLength(1);
    expect(results.filter((result) => result.generatedPassword)).toHaveLength(1);
  }));

test.each(['before', 'while'] as const)(
  'a try that is given up but made the account, %s the next one looks, is no other process’s: the password is told',
  (when) =>
    withRegistry(async ({ registry }) => {
      const administrator = newAdministrator({ username: 'admin', homeRegion: 'us' });
      let given: Promise<unknown> = Promise.resolve();
      const givingUp: typeof registry = {
        ...registry,
        createUser: async (...user) => {
          given = registry.createUser(...user);
          if (when === 'before') await given;
          throw new RegistryError('unavailable', 'no answer in time');
        },
      };
      await expect(ensureAdministrator(givingUp, administrator)).rejects.toThrow('no answer in time');
      const retried = await ensureAdministrator(registry, administrator);
      await given;
      expect(retried).toEqual({ created: true, generatedPassword: expect.any(String) });
      const user = await registry.findUserByUsername('admin');
      expect(await verifyPassword(user?.passwordHash, retried.generatedPassword ?? '')).toBe(true);
      expect(await registry.countUsers()).toBe(1);
    }),
);
