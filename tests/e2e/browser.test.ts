/// <reference lib="dom" />
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPaths, createWebsite, eventually, logIn, type Stats } from '../api-client.ts';
import { findOrInstallChromium } from '../chromium.ts';
import { startMeridian } from '../meridian.ts';

// Pages on another origin than the collector, as every tracked website is: preflight, CORS and keepalive are real.
const meridian = await startMeridian();
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
const shop = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<title>Shop</title>'));
let browser: Browser;
let page: Page;

beforeAll(async () => {
  await once(shop.listen(0, '127.0.0.1'), 'listening');
  browser = await chromium.launch({
    executablePath: findOrInstallChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync'],
  });
  page = await browser.newPage();
}, 300_000);

afterAll(async () => {
  await browser?.close();
  shop.close();
  await meridian.stop();
});

/** Sends one event from the page as a tracker script does; returns what the page's script got to see. */
async function sendFromPage(body: unknown, options: { cache?: string; credentials?: 'omit' | 'include' } = {}) {
  await page.goto(`http://localhost:${(shop.address() as AddressInfo).port}/products`);
  return page.evaluate(
    async ({ url, body, options }) => {
      const response = await fetch(url, {
        method: 'POST',
        keepalive: true,
        credentials: options.credentials ?? 'omit',
        headers: {
          'content-type': 'application/json',
          ...(options.cache !== undefined && { 'x-umami-cache': options.cache }),
        },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Record<string, string> };
    },
    { url: `${api}/send`, body, options },
  );
}

test('a page of another origin sends, reads the answer and stays in its visit by the token it passes back', async () => {
  const website = await createWebsite(admin);
  const event = (url: string) => ({ type: 'event', payload: { website: website.id, url, hostname: 'localhost' } });
  const first = await sendFromPage(event('/a'));
  const second = await sendFromPage(event('/b'), { cache: first.body.cache ?? '', credentials: 'include' });
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(second.body.visitId).toBe(first.body.visitId);
  await eventually(
    () => admin.get<Stats>(`/websites/${website.id}/stats`),
    (stats) => stats.pageviews === 2 && stats.visits === 1,
  );
});

test('a page of another origin can read why an event was refused', async () => {
  const refused = await sendFromPage({ type: 'event', payload: { website: 'nonsense' } });
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.body)).toContain('payload.website');
});

test('an event that is sent while the page is being left arrives, by keepalive and by sendBeacon', async () => {
  const website = await createWebsite(admin);
  await page.goto(`http://localhost:${(shop.address() as AddressInfo).port}/products`);
  await page.evaluate(
    ({ url, website }) => {
      const body = (path: string) => JSON.stringify({ type: 'event', payload: { website, url: path } });
      addEventListener('pagehide', () => {
        fetch(url, {
          method: 'POST',
          keepalive: true,
          headers: { 'content-type': 'application/json' },
          body: body('/keepalive'),
        });
        navigator.sendBeacon(url, body('/beacon'));
      });
    },
    { url: `${api}/send`, website: website.id },
  );
  await page.goto('about:blank');
  await eventually(
    () => allPaths(admin, website.id),
    (paths) => paths.length === 2,
  );
});
