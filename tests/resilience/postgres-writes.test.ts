import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, eventually, request, type Website } from '../api-client.ts';
import { type System, startSystem } from './system.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem();
}, 120_000);
afterAll(() => system.stop());

const endOtherConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;
/**
 * A change is a transaction of four statements, which has to come to its end now and then: while none does, the pause
 * grows.
 */
const pauseMs = 50;
const writers = 8;
const websitesEach = 3;

const call = (method: string, path: string, body?: unknown) =>
  request(method, `${system.caller.origin}/api/websites${path}`, { headers: system.caller.headers, body });

let done = 0;

/** Repeats the request while it is told to come again, which is the only failure there may be. */
async function untilDone(ask: () => Promise<Answer>): Promise<{ answer: Answer; failures: number }> {
  for (let failures = 0; ; failures++) {
    const answer = await ask();
    if (answer.status !== 503) {
      done += 1;
      return { answer, failures };
    }
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
}

const read = async (id: string) => (await untilDone(() => call('GET', `/${id}`))).answer.body as Website | null;

/** Creates a website under an id of its own and renames it; gives how often it was told to come again. */
async function write(id: string): Promise<number> {
  const website = { id, name: 'before', domain: `${id}.example.com` };
  const created = await untilDone(() => call('POST', '', website));
  // A create whose answer was lost has taken effect: then its repetition says that the id is taken.
  const wasThere = created.failures > 0 && created.answer.status !== 200;
  const taken = { status: 400, body: { error: { message: 'Website ID already in use.' } } };
  expect(created.answer).toMatchObject(wasThere ? taken : { status: 200 });
  expect(await read(id)).toMatchObject(website);
  const renamed = await untilDone(() => call('POST', `/${id}`, { name: 'after' }));
  expect([renamed.answer.status, renamed.answer.body]).toMatchObject([200, { id, name: 'after' }]);
  expect(await read(id)).toMatchObject({ ...website, name: 'after' });
  return created.failures + renamed.failures;
}

test('Postgres ends all connections again and again while websites are written: what was answered is there, what failed is repeated under its id', async () => {
  let isWriting = true;
  let ended = 0;
  const end = async (): Promise<void> => {
    for (let waitMs = pauseMs; isWriting; ) {
      ended += (await system.postgres(endOtherConnections)).length;
      const doneBefore = done;
      await delay(waitMs);
      waitMs = done > doneBefore ? pauseMs : Math.min(2 * waitMs, 1_000);
    }
  };
  const ending = end();
  const ids = Array.from({ length: writers * websitesEach }, () => randomUUID());
  const failures: number[] = [];
  const writeAll = async (some: string[]): Promise<void> => {
    for (const id of some) failures.push(await write(id));
  };
  try {
    const parts = Array.from({ length: writers }, (_, i) => ids.slice(i * websitesEach, (i + 1) * websitesEach));
    await Promise.all(parts.map(writeAll));
  } finally {
    isWriting = false;
    await ending;
  }
  const total = failures.reduce((sum, n) => sum + n, 0);
  console.log(`${ids.length} websites, ${ended} connections ended, ${total} writes repeated`);
  expect(total).toBeGreaterThan(0);
  const list = await eventually(
    () => call('GET', '?pageSize=1000'),
    (answer) => answer.status === 200,
  );
  const websites = (list.body as { data: Website[] }).data;
  expect(websites.map(({ id }) => id).sort()).toEqual(ids.sort());
  expect(new Set(websites.map(({ name }) => name))).toEqual(new Set(['after']));
}, 120_000);
