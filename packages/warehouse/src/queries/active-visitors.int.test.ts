import { expect, test } from 'vitest';
import { at, createTestSite } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';

const { warehouse } = await createTestWarehouse();

test('active visitors are those with a pageview or custom event in the range, an identified one once', async () => {
  const site = createTestSite(warehouse);
  await site.insert([
    { t: '10:00', session: 'gone' },
    { t: '10:05', session: 'a' },
    { t: '10:06', session: 'a' },
    { t: '10:06', session: 'b', eventType: 2, eventName: 'x' },
    { t: '10:06', session: 'measured', eventType: 5 },
    { t: '10:06', session: 'anonymous', visit: 'v' },
    { t: '10:07', session: 'jane', visit: 'v', distinctId: 'jane' },
  ]);
  const active = async (startMs: number, endMs = at('12:00')) => {
    const range = { startAt: new Date(startMs), endAt: new Date(endMs) };
    return (await warehouse.getActiveVisitors({ websiteId: site.websiteId, route: 'test' }, range)).value;
  };
  expect(await active(at('10:05'))).toBe(3);
  expect(await active(at('10:05') + 1)).toBe(3);
  expect(await active(at('10:06') + 1)).toBe(1);
  expect(await active(at('10:00'), at('10:05'))).toBe(2);
  expect(await active(at('10:00'), at('10:05') - 1)).toBe(1);
  expect(await active(at('11:00'))).toBe(0);
});
