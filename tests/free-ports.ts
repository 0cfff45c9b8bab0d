import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from './processes.ts';

/** The first of so many neighbouring ports of which nobody uses one. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    const isFree = async (port: number) => {
      const server = createServer().listen(port);
      const free = await Promise.race([
        once(server, 'listening').then(() => true),
        once(server, 'error').then(() => false),
      ]);
      server.close();
      return free;
    };
    const free = await Promise.all(Array.from({ length: count }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
}
