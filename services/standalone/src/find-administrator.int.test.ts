import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { verifyPassword } from '@meridian/registry/credentials';
import { RegistryError } from '@meridian/registry/registry-error';
import { createTestRegistry } from '@meridian/registry/registry-fixtures';
import { expect, onTestFinished, test } from 'vitest';
import { findAdministrator } from './find-administrator.ts';

const config = { MODE: 'self-hosted', ADMIN_USERNAME: 'admin', ADMIN_PASSWORD: undefined, REGION: 'us' } as const;

test('the administrator of the first start is found by later ones, which know no password', async () => {
  const { registry, close } = await createTestRegistry(await createPostgresDatabase());
  onTestFinished(close);
  expect(await findAdministrator(registry, config)).toEqual({ generatedPassword: expect.stringMatching(/^\S{20}$/) });
  expect(await findAdministrator(registry, config)).toEqual({ generatedPassword: undefined });
});

test('an account that was made though its try was given up is told with its password, not found without one', async () => {
  const { registry, close } = await createTestRegistry(await createPostgresDatabase());
  onTestFinished(close);
  let tries = 0;
  const givingUp: typeof registry = {
    ...registry,
    createUser: async (...user) => {
      const made = await registry.createUser(...user);
      if (++tries === 1) throw new RegistryError('unavailable', 'no answer in time');
      return made;
    },
  };
  const administrator = await findAdministrator(givingUp, config);
  const user = await registry.findUserByUsername('admin');
  expect(await verifyPassword(user?.passwordHash, administrator?.generatedPassword ?? '')).toBe(true);
});

test('where the accounts were made by hand, for a cloud, nobody is named as administrator who is none', async () => {
  const { registry, newUser, close } = await createTestRegistry(await createPostgresDatabase());
  onTestFinished(close);
  expect(await findAdministrator(registry, { ...config, MODE: 'cloud' })).toBeNull();
  expect(await registry.countUsers()).toBe(0);
  await newUser({ username: 'ada', role: 'admin' });
  expect(await findAdministrator(registry, config)).toBeNull();
  await newUser({ username: 'admin' });
  expect(await findAdministrator(registry, config)).toBeNull();
  expect(await findAdministrator(registry, { ...config, ADMIN_USERNAME: 'Ada' })).toEqual({});
});
