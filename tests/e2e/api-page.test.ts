import { afterAll, beforeAll, expect, test } from 'vitest';
import { startMeridian } from '../meridian.ts';
import { openShop, type Shop } from '../shop.ts';

const meridian = await startMeridian();
let browser: Shop;

beforeAll(async () => {
  browser = await openShop(meridian.origin);
}, 300_000);

afterAll(async () => {
  await browser?.close();
  await meridian.stop();
});

test('the API page shows an operation in a browser, sends a request and asks nothing of anybody else', async () => {
  const page = await browser.newPage();
  const complaints: string[] = [];
  const asked = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => asked.add(new URL(request.url()).origin));

  await page.goto(`${meridian.origin}/v1/docs`);
  await page.getByText('Whether the API answers').click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
  expect(await page.locator('.live-responses-table').textContent()).toContain('"ok": true');

  expect(complaints).toEqual([]);
  expect([...asked].filter((origin) => origin !== 'null')).toEqual([meridian.origin]);
});
