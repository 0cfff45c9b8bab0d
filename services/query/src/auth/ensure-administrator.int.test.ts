import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { verifyPassword } from '@meridian/registry/credentials';
import { createTestRegistry } from '@meridian/registry/registry-fixtures';
import { expect, test } from 'vitest';
import { ensureAdministrator } from './ensure-administrator.ts';

const withRegistry = async (work: (t: Awaited<ReturnType<typeof createTestRegistry>>) => Promise<void>) => {
  const t = await createTestRegistry(await createPostgresDatabase());
  await work(t).finally(t.close);
};

test('the first start creates the administrator with a generated password, later starts change nothing', () =>
  withRegistry(async ({ registry }) => {
    const administrator = { username: 'admin', homeRegion: 'us' };
    const first = await ensureAdministrator(registry, administrator);
    const user = await registry.findUserByUsername('admin');
    expect(user?.role).toBe('admin');
    expect(first.created).toBe(true);
    expect(first.generatedPassword).toMatch(/^[A-Za-z0-9]{20}$/);
    expect(await verifyPassword(user?.passwordHash, first.generatedPassword ?? '')).toBe(true);
    expect(
      await ensureAdministrator(registry, { ...administrator, username: 'other', password: 'long enough' }),
    ).toEqual({
      created: false,
    });
    expect(await registry.countUsers()).toBe(1);
  }));

test('a given password is used and not told', () =>
  withRegistry(async ({ registry }) => {
    const administrator = { username: 'root', password: 'given password', homeRegion: 'us' };
    expect(await ensureAdministrator(registry, administrator)).toEqual({ created: true });
    const user = await registry.findUserByUsername('root');
    expect(await verifyPassword(user?.passwordHash, 'given password')).toBe(true);
  }));

test('of several processes that start together one creates it', () =>
  withRegistry(async ({ registry }) => {
    const start = () => ensureAdministrator(registry, { username: 'admin', homeRegion: 'us' });
    const results = await Promise.all([start(), start(), start()]);
    expect(results.filter((result) => result.created)).toHaveLength(1);
    expect(results.filter((result) => result.generatedPassword)).toHaveLength(1);
  }));
