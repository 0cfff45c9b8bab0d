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

test('the page is kept by browsers until it changes, and nobody guesses types or frames it', async () => {
  const answer = await fetch(`${meridian.origin}/docs/swagger-ui.css`);
  for (const [name, value] of [
    ['cache-control', 'no-cache'],
    ['content-encoding', 'gzip'],
    ['content-security-policy', expect.stringContaining("frame-ancestors 'none'")],
    ['content-type', 'text/css; charset=utf-8'],
    ['x-content-type-options', 'nosniff'],
  ])
    expect(answer.headers.get(name), name).toEqual(value);
  const headers = { 'if-none-match': answer.headers.get('etag') ?? '' };
  const again = await fetch(answer.url, { headers });
  expect([again.status, await again.text(), again.headers.get('cache-control')]).toEqual([304, '', 'no-cache']);
  expect((await fetch(answer.url, { method: 'HEAD' })).status).toBe(200);
});
