import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

export type LoadResult = { requests: number; failed: number; seconds: number; cpuSeconds: number };

/** CPU time that a process has used, user and system, in seconds. */
function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** A whole POST request as bytes, so that the sender costs as little as it can. */
export function postRequest(path: string, headers: Record<string, string>, body: string): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
      `${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Keeps `connections` busy, one request after the other on each, for `seconds`; counts what the process `pid` pays. */
export async function load(options: {
  port: number;
  pid: number;
  requests: Buffer[];
  connections: number;
  seconds: number;
}): Promise<LoadResult> {
  const { port, pid, requests, connections, seconds } = options;
  const result = { requests: 0, failed: 0 };
  let next = 0;
  const cpuBefore = cpuSecondsOf(pid);
  const startedAtMs = performance.now();
  const endAtMs = startedAtMs + seconds * 1_000;

  const takeRequest = () => {
    const request = requests[next++ % requests.length];
    if (request === undefined) throw new Error('no requests');
    return request;
  };
  await Promise.all(Array.from({ length: connections }, () => busyConnection(port, takeRequest, endAtMs, result)));
  return { ...result, seconds: (performance.now() - startedAtMs) / 1_000, cpuSeconds: cpuSecondsOf(pid) - cpuBefore };
}

function busyConnection(
  port: number,
  takeRequest: () => Buffer,
  endAtMs: number,
  result: { requests: number; failed: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(takeRequest()));
    let seen = '';
    socket.setNoDelay(true);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      seen += chunk.toString('latin1');
      const headEnd = seen.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const bodyLength = Number(/content-length: (\d+)/i.exec(seen)?.[1]);
      if (seen.length < headEnd + 4 + bodyLength) return;
      result.requests++;
      if (!seen.startsWith('HTTP/1.1 200')) result.failed++;
      seen = '';
      if (performance.now() < endAtMs) socket.write(takeRequest());
      else {
        socket.destroy();
        resolve();
      }
    });
  });
}
