import { once } from 'node:events';
import { connect } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { listen } from '@meridian/runtime/http/server';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { QueryEnv } from '../query-env.ts';
import { clientSignal, isClientGone } from './node-answer.ts';

test('what is asked for a client ends when its connection does, and nothing of others', async () => {
  const ended: boolean[] = [];
  let waiting = 0;
  const app = new Hono<QueryEnv>()
    .get('/answered', (c) => c.json({ gone: clientSignal(c).aborted || isClientGone(c) }))
    .get('/waits', (c) => {
      const signal = clientSignal(c);
      signal.addEventListener('abort', () => ended.push(isClientGone(c)));
      waiting++;
      return new Promise<Response>(() => {});
    });
  const server = await listen(getRequestListener(app.fetch), { port: 0, host: '127.0.0.1' });
  const [leaves, stays] = [connect(server.port, '127.0.0.1'), connect(server.port, '127.0.0.1')];
  const ask = async (socket: typeof leaves) => {
    socket.write('GET /answered HTTP/1.1\r\nHost: x\r\n\r\n');
    return String(await once(socket, 'data'));
  };
  expect(await ask(leaves)).toContain('{"gone":false}');
  expect(await ask(leaves)).toContain('{"gone":false}');
  expect(await ask(stays)).toContain('{"gone":false}');
  leaves.write('GET /waits HTTP/1.1\r\nHost: x\r\n\r\n');
  stays.write('GET /waits HTTP/1.1\r\nHost: x\r\n\r\n');
  await expect.poll(() => waiting).toBe(2);
  leaves.destroy();
  await expect.poll(() => ended.length).toBe(1);
  stays.destroy();
  await expect.poll(() => ended.length).toBe(2);
  expect(ended).not.toContain(false);
  await server.close(0);
});
