import { LoginBody } from '@meridian/contract/accounts';
import { loadConfig } from '@meridian/runtime/config';
import { expect, test } from 'vitest';
import { QueryEnvironment } from './config.ts';

const Settings = QueryEnvironment.pick({ ADMIN_USERNAME: true });

test('the administrator whom the first start makes has a name that a login can name', () => {
  for (const given of [undefined, 'Ada', ' admin', 'admin\t', ` ${'x'.repeat(255)} `]) {
    const { ADMIN_USERNAME } = loadConfig(Settings, given === undefined ? {} : { ADMIN_USERNAME: given });
    const { username } = LoginBody.parse({ username: given ?? 'admin', password: 'x' });
    expect(ADMIN_USERNAME).toBe(username);
  }
  expect(() => loadConfig(Settings, { ADMIN_USERNAME: 'x'.repeat(256) })).toThrow('ADMIN_USERNAME');
});
