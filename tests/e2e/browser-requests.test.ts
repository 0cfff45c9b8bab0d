/// <reference lib="dom" />
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { allPaths, createWebsite, eventually, logIn } from '../api-client.ts';
import { loggedEvents } from '../collector.ts';
import { startMeridian } from '../meridian.ts';
import { openShop, type Shop } from '../shop.ts';

// The requests of pages of another origin one by one: which of them the browser asks leave for, lets go and lets the
// page read.
const meridian = await startMeridian({ FLUSH_MAX_WAIT_MS: '10' });
const endpoint = `${meridian.origin}/api/send`;
const admin = await logIn(`${meridian.origin}/api`, 'admin', meridian.password);
let shop: Shop;

beforeAll(async () => {
  shop = await openShop(meridian.origin);
}, 300_000);

afterEach(() => shop.closePages());

afterAll(async () => {
  await shop?.close();
  await meridian.stop();
});

type Seen = { method: string; type: string; status: number; headers: Record<string, string> };

/** A page that loads nothing, and every request to the collector that the browser then sends, preflights included. */
async function openPage(path = '/page'): Promise<{ page: Page; seen: Seen[] }> {
  const page = await shop.newPage();
  await page.goto(shop.plainPage(path));
  const network = await page.context().newCDPSession(page);
  const methods = new Map<string, string>();
  const seen: Seen[] = [];
  network.on('Network.requestWillBeSent', ({ requestId, request }) => methods.set(requestId, request.method));
  network.on('Network.responseReceived', ({ requestId, type, response }) => {
    if (!response.url.startsWith(meridian.origin)) return;
    const headers = Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]);
    const method = methods.get(requestId) ?? '';
    seen.push({ method, type, status: response.status, headers: Object.fromEntries(headers) });
  });
  await network.send('Network.enable');
  return { page, seen };
}

type Sent = { body: string; headers?: Record<string, string>; credentials?: 'omit' | 'include' };

/** What the page's script gets to see of the answer; rejects where the browser keeps it from the page. */
function sendFrom(page: Page, { body, headers = {}, credentials = 'omit' }: Sent) {
  return page.evaluate(
    async ({ url, init }) => {
      const response = await fetch(url, { method: 'POST', keepalive: init.body.length < 60_000, ...init });
      const text = await response.text();
      return { status: response.status, text, requestId: response.headers.get('x-request-id') };
    },
    { url: endpoint, init: { body, headers, credentials } },
  );
}

const json = { 'Content-Type': 'application/json' };
const event = (website: string, url: string) => JSON.stringify({ type: 'event', payload: { website, url } });

test('a preflight is asked and answered before the first event, and its answer serves for the token as well', async () => {
  const website = await createWebsite(admin);
  const { page, seen } = await openPage();
  const first = await sendFrom(page, { body: event(website.id, '/a'), headers: json });
  const headers = { ...json, 'x-umami-cache': JSON.parse(first.text).cache };
  const second = await sendFrom(page, { body: event(website.id, '/b'), headers });
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(JSON.parse(second.text).visitId).toBe(JSON.parse(first.text).visitId);

  await expect.poll(() => seen.map(({ method }) => method)).toEqual(['OPTIONS', 'POST', 'POST']);
  expect(seen[0]).toMatchObject({
    type: 'Preflight',
    status: 204,
    headers: {
      'access-control-allow-origin': new URL(page.url()).origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': expect.stringMatching(/content-type.*x-umami-cache/),
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-max-age': '86400',
    },
  });
  await loggedEvents(admin, website.id, 2);
});

test.each([
  ['an empty token', { 'x-umami-cache': '' }, 'omit'],
  ['the token "undefined"', { 'x-umami-cache': 'undefined' }, 'omit'],
  ['credentials and a header of its own', { 'x-shop-version': '7' }, 'include'],
] as const)('an event with %s is let go and its answer can be read', async (_, headers, credentials) => {
  const website = await createWebsite(admin);
  const { page } = await openPage();
  const answer = await sendFrom(page, { body: event(website.id, '/a'), headers: { ...json, ...headers }, credentials });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text).cache).toEqual(expect.any(String));
  await loggedEvents(admin, website.id, 1);
});

test.each(['omit', 'include'] as const)(
  'a page can read why its event was refused, with credentials: %s',
  async (credentials) => {
    const { page } = await openPage();
    const refused = (body: string) => sendFrom(page, { body, headers: json, credentials });
    const faulty = await refused(event('nonsense', '/a'));
    expect([faulty.status, JSON.parse(faulty.text).error.code]).toEqual([400, 'bad-request']);
    expect(faulty.text).toContain('payload.website');
    expect(faulty.requestId).toEqual(expect.any(String));
    expect((await refused('{"type":')).status).toBe(400);
    const huge = await refused(JSON.stringify({ type: 'event', payload: { title: 'x'.repeat(70_000) } }));
    expect([huge.status, JSON.parse(huge.text).error.code]).toEqual([413, 'payload-too-large']);
  },
);

test('a page without an origin of its own, in a sandboxed frame, sends and reads the answer', async () => {
  const website = await createWebsite(admin);
  const { page } = await openPage();
  const status = await page.evaluate(
    async ({ url, body }) => {
      const frame = document.createElement('iframe');
      frame.setAttribute('sandbox', 'allow-scripts');
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
      frame.srcdoc = `<script>
        fetch(${JSON.stringify(url)}, ${JSON.stringify(init)})
          .then((response) => response.json().then(() => parent.postMessage(response.status, '*')))
          .catch((error) => parent.postMessage(String(error), '*'));
      </script>`;
      const heard = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data), { once: true }));
      document.body.append(frame);
      return heard;
    },
    { url: endpoint, body: event(website.id, '/framed') },
  );
  expect(status).toBe(200);
  await loggedEvents(admin, website.id, 1);
});

test('sendBeacon arrives: a string without any preflight, a Blob of JSON after one', async () => {
  const website = await createWebsite(admin);
  const { page, seen } = await openPage();
  const beacon = (path: string, type?: string) =>
    page.evaluate(
      ({ url, body, type }) => navigator.sendBeacon(url, type === undefined ? body : new Blob([body], { type })),
      { url: endpoint, body: event(website.id, path), type },
    );
  expect(await beacon('/string')).toBe(true);
  await loggedEvents(admin, website.id, 1);
  expect(seen.filter(({ method }) => method === 'OPTIONS')).toEqual([]);
  expect(await beacon('/blob', 'application/json')).toBe(true);
  await loggedEvents(admin, website.id, 2);
  await expect.poll(() => seen.filter(({ type }) => type === 'Preflight').map(({ status }) => status)).toEqual([204]);
});

test.each(['keepalive fetch', 'beacon of a string', 'beacon of a Blob'])(
  'what is sent while the page is being left arrives once: %s',
  async (way) => {
    const website = await createWebsite(admin);
    const { page } = await openPage('/leaving');
    await page.evaluate(
      ({ url, body, way }) => {
        const type = 'application/json';
        addEventListener('pagehide', () => {
          if (way === 'beacon of a string') navigator.sendBeacon(url, body);
          else if (way === 'beacon of a Blob') navigator.sendBeacon(url, new Blob([body], { type }));
          else fetch(url, { method: 'POST', keepalive: true, headers: { 'Content-Type': type }, body });
        });
      },
      { url: endpoint, body: event(website.id, '/left'), way },
    );
    await page.goto(shop.plainPage('/next'));
    await eventually(
      () => allPaths(admin, website.id),
      (paths) => paths.length > 0,
    );
    expect(await allPaths(admin, website.id)).toEqual(['/left']);
  },
);
