import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { chrome, eventually, request } from '../api-client.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted } from './under-load.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem();
}, 120_000);
afterEach(() => system.proxies.postgres.goUp());
afterAll(() => system.stop());

const send = (websiteId: string) =>
  request('POST', `http://127.0.0.1:${system.members.ingest[0]?.port}/api/send`, {
    headers: { 'user-agent': chrome },
    body: { type: 'event', payload: { website: websiteId, url: '/' } },
  });
const ask = (path: string) => request('GET', `${system.caller.origin}/api${path}`, { headers: system.caller.headers });

test.each(['is down', 'hangs'] as const)(
  'Postgres %s under load: known websites collect, an unknown one is told to come again, the API says 503, and all is stored once',
  async (trouble) => {
    const unseen = await system.newWebsite();
    const { load, report } = await underLoad(system, async (running, websiteId) => {
      if (trouble === 'is down') system.proxies.postgres.goDown();
      else system.proxies.postgres.hang();
      await untilAccepted(running, 600);
      const answers = await Promise.all([send(unseen), ask(`/websites/${websiteId}/stats`), ask('/websites')]);
      expect(answers.map((answer) => answer.status)).toEqual([503, 503, 503]);
      for (const answer of answers) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      system.proxies.postgres.goUp();
    });
    expect([...load.statuses.keys()]).toEqual([200]);
    expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
    await eventually(
      () => send(unseen),
      (answer) => answer.status === 200,
    );
  },
  120_000,
);

test('services that start while Postgres is down run, are not ready, say so in their log, and work by themselves when it is there', async () => {
  const websiteId = await system.newWebsite();
  const members = Object.values(system.members).flat();
  const readiness = () =>
    Promise.all(
      members.map((member) => request('GET', `http://127.0.0.1:${member.port}/readyz`).then((a) => a.status)),
    );
  await Promise.all(members.map((member) => member.end('SIGTERM')));
  system.proxies.postgres.goDown();
  await Promise.all(members.map((member) => member.start()));
  expect(await readiness()).toEqual(members.map(() => 503));
  expect((await send(websiteId)).status).toBe(503);
  for (const member of members) // also where nobody asks for /readyz
    await expect.poll(() => member.process().output()).toMatch(/"level":50,.*"part":"postgres".*"cannot be used"/);
  system.proxies.postgres.goUp();
  await eventually(readiness, (statuses) => statuses.every((status) => status === 200));
  expect((await send(websiteId)).status).toBe(200);
}, 120_000);
