import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from './processes.ts';

/** The first of so many neighbouring ports of which nobody uses one. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    const free = await Promise.all(Array.from({ length: count }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port);
  const free = await once(server, 'listening').then(
    () => true,
    () => false, // it is in use: once() rejects with the server's error
  );
  server.close();
  return free;
}
