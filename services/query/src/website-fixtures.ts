import type { WebsiteRecord } from '@meridian/contract/websites';
import { expect } from 'vitest';
import type { createTestApi } from './query-fixtures.ts';

type Setting = { api: Awaited<ReturnType<typeof createTestApi>>; token: string };

/**
 * What tests do with websites, with the token of the setting unless another one is given. `setting` is there once a
 * test runs.
 */
export function websiteCalls(setting: () => Setting) {
  const create = (body: object, token = setting().token) =>
    setting().api.call('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example', ...body } });
  return {
    create,
    newWebsite: async (body: object = {}, token = setting().token) => {
      const answer = await create(body, token);
      expect(answer.status, answer.text).toBe(200);
      return answer.json as WebsiteRecord;
    },
    update: (id: string, body: unknown, token = setting().token) =>
      setting().api.call('POST', `/websites/${id}`, { token, body }),
    read: (id: string, token = setting().token) => setting().api.ok('GET', `/websites/${id}`, { token }),
  };
}
