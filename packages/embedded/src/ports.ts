import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which systems take the ports of outgoing connections (32768 on Linux), so that they stay free.
 */
const candidates = { from: 20_000, to: 32_000 };

/** Some free port. Free means on 127.0.0.1, at this moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(candidates.from, candidates.to);
    if (await isFree(port)) return port;
  }
}

/** The preferred port or, if that is taken or none is preferred, some free one. */
export async function choosePort(preferred: number | undefined): Promise<number> {
  return preferred && (await isFree(preferred)) ? preferred : freePort();
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
