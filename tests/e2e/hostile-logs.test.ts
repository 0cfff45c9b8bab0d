import { randomUUID } from 'node:crypto';
import { freePort } from '@meridian/embedded/ports';
import { rawExchange, statusesOf } from '@meridian/runtime/http/test-raw-exchange';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chrome, createWebsite, logIn, request } from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Process, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

// What a request holds, read back from the log of the processes that it came to: one line of JSON for each, whatever is
// in it.

const patienceMs = 120_000;
const ports = { ingest: await freePort(), query: await freePort() };
const processes: Process[] = [];
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const stores = await createStores();
  drop = stores.drop;
  const env = {
    ...stores.env,
    APP_SECRET: 'a secret of the end-to-end tests, long enough',
    ADMIN_PASSWORD: 'end-to-end',
    LOG_LEVEL: 'debug',
    LOG_SAMPLE_RATE: '1',
  };
  expect((await runMeridian(env, 'migrate')).code).toBe(0);
  for (const name of ['ingest', 'query'] as const) {
    const service = startService(name, { ...env, PORT: String(ports[name]) });
    processes.push(service);
    await untilReady(service, `http://127.0.0.1:${ports[name]}/readyz`);
  }
}, patienceMs);

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  await drop?.();
});

/** Ends a line, begins one that looks like the log's, colours a terminal, ends a text of JSON. */
const forged = '{"level":60,"forged":true,"msg":"forged"}';
const evil = [
  `\r\n${forged}\r\n`,
  `\n${forged}\n`,
  '\x1b[31mred\x1b[0m\x07',
  '\x9b31m',
  '\u2028',
  '"}',
  '\\"}\n',
  '\0',
];

/** The lines of a service's log from here on; each has to be JSON. */
function linesOf(service: Process, from: number): Record<string, unknown>[] {
  const text = service.output().slice(from);
  expect(text).not.toMatch(/[^\P{Cc}\n]|[\u2028\u2029]/u);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

test(
  'each request to the API is one line, and what it holds is never one of its own',
  async () => {
    const [, query] = processes as [Process, Process];
    const base = `http://127.0.0.1:${ports.query}/api`;
    const admin = await logIn(base, 'admin', 'end-to-end');
    const website = await createWebsite(admin);
    const { key } = await admin.ok<{ key: string }>('POST', '/me/api-keys', { name: 'logs' });
    await expect.poll(() => query.output()).toContain('/me/api-keys');
    const from = query.output().length;

    let asked = 0;
    const ask = async (line: string, headers = '', body = '') => {
      const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
      const lines = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${headers}${length}`;
      const said = await rawExchange(ports.query, Buffer.from(`${line} HTTP/1.1\r\n${lines}\r\n${body}`));
      const [status] = statusesOf(said);
      // Else the head, or its address, was refused before it was a request.
      if (/^x-region:/im.test(said) && !said.includes('The address is not valid.')) asked += 1;
      return status;
    };
    for (const text of evil) {
      const encoded = encodeURIComponent(text);
      const visible = text.replace(/[\r\n\0]/g, '');
      await ask(`GET /api/websites/${encoded}`);
      await ask(`GET /api/websites/${encoded}/stats?path=${encoded}&startAt=${encoded}`);
      await ask(`GET /api/${encoded}`);
      await ask(`GET /api/websites/${visible}`);
      await ask(`GET /api/websites/${website.id}`, `User-Agent: ${visible}\r\nReferer: ${visible}\r\n`);
      await ask(`GET /api/websites/${website.id}`, `x-request-id: ${visible}\r\ntraceparent: ${visible}\r\n`);
      await ask(`DELETE /api/me/api-keys/${encoded}`);
      await ask('POST /api/auth/login', '', JSON.stringify({ username: text, password: text }));
      await ask(`POST /api/websites/${website.id}`, '', JSON.stringify({ name: text }));
      await ask(`POST /api/websites/${website.id}`, '', text);
    }
    expect(asked).toBeGreaterThan(50);
    const requests = () => linesOf(query, from).filter((line) => line.msg === 'request');
    await expect.poll(() => requests().length).toBe(asked);
    expect(linesOf(query, from).filter((line) => 'forged' in line || line.level === 60)).toEqual([]);
    expect(query.output()).not.toContain(key);
  },
  patienceMs,
);

test(
  'what is sent to the collector forges no line either',
  async () => {
    const [ingest] = processes as [Process, Process];
    const from = ingest.output().length;
    for (const text of evil) {
      const headers = { 'user-agent': chrome };
      for (const website of [text, randomUUID()]) {
        const body = { type: 'event', payload: { website, url: text, title: text, id: text, name: text } };
        expect((await request('POST', `http://127.0.0.1:${ports.ingest}/api/send`, { headers, body })).status).toBe(
          400,
        );
      }
      const visible = text.replace(/[\r\n\0]/g, '');
      const head = `POST /api/${encodeURIComponent(text)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: ${visible}\r\n`;
      await rawExchange(ports.ingest, Buffer.from(`${head}x-request-id: ${visible}\r\nContent-Length: 0\r\n\r\n`));
    }
    expect(linesOf(ingest, from).filter((line) => 'forged' in line)).toEqual([]);
  },
  patienceMs,
);
