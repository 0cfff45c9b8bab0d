/// <reference lib="dom" />
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Page } from 'playwright-core';
import { findOrInstallChromium } from './chromium.ts';

export type Shop = {
  /** A page in a browser profile of its own: no cache, no preflight that was asked before. */
  newPage(): Promise<Page>;
  /** Closes every page: what a test leaves open would slow down the next. */
  closePages(): Promise<void>;
  /** Address of a page that loads nothing. */
  plainPage(path: string): string;
  /** Address of a page that loads the tracker for a website; it sends a pageview at once. */
  trackedPage(path: string, tracking: { website: string; credentials?: 'omit' | 'include' }): string;
  close(): Promise<void>;
};

/** Starting a browser on a busy machine. */
const launchTimeoutMs = 120_000;
const stepTimeoutMs = 50_000;

/**
 * For tests: a real browser, and a server with pages whose origin is another one than the collector's, as every tracked
 * website's is. Preflight, CORS, keepalive and what happens when a page is left are the browser's own.
 * @param collector origin of the collector that the pages send to
 */
export async function openShop(collector: string): Promise<Shop> {
  const script = await readFile(new URL('tracker-script.js', import.meta.url));
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop');
    if (pathname === '/tracker.js') return response.setHeader('content-type', 'text/javascript').end(script);
    return response.setHeader('content-type', 'text/html').end(pageOf(collector, pathname, searchParams));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const browser = await chromium.launch({
    executablePath: findOrInstallChromium(),
    timeout: launchTimeoutMs,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--disable-background-networking',
    ],
  });
  // The collector is at 127.0.0.1: another host, another port, another origin.
  const pageAddress = (path: string) => `http://localhost:${(server.address() as AddressInfo).port}${path}`;

  return {
    async newPage() {
      const context = await browser.newContext();
      context.setDefaultTimeout(stepTimeoutMs);
      return context.newPage();
    },
    async closePages() {
      await Promise.all(browser.contexts().map((context) => context.close()));
    },
    plainPage: pageAddress,
    trackedPage: (path, { website, credentials }) =>
      pageAddress(`${path}?website=${website}${credentials ? `&credentials=${credentials}` : ''}`),
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

function pageOf(collector: string, path: string, settings: URLSearchParams): string {
  const website = settings.get('website');
  const credentials = settings.get('credentials');
  const attributes = [
    `data-website-id="${website}" data-host-url="${collector}"`,
    ...(credentials === null ? [] : [`data-fetch-credentials="${credentials}"`]),
  ].join(' ');
  return `<!doctype html><html lang="en"><title>Shop ${path}</title><link rel="icon" href="data:,"><h1>Shop</h1>${
    website === null ? '' : `<script src="/tracker.js" ${attributes}></script>`
  }</html>`;
}

/** What a page's script may do with the tracker that the page loaded. */
export type Tracker = {
  answers: { status: number; body: { cache: string; sessionId: string; visitId: string } }[];
  settled(): Promise<void>;
  track(name: string, data?: object): Promise<void>;
  identify(id: string, data?: object): Promise<void>;
  measure(vitals: object): Promise<void>;
};

declare global {
  interface Window {
    tracker: Tracker;
  }
}
