import { connect } from 'node:net';

/**
 * For tests: writes bytes (a string is latin1) on a connection of its own and resolves with all that the server says
 * until it closes the connection, or until it has said `until`. With `end` the client ends its side behind the bytes:
 * it breaks off.
 */
export function rawExchange(
  port: number,
  bytes: string | Buffer,
  options: { end?: boolean; until?: RegExp } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const socket = connect(port, '127.0.0.1');
    socket.setEncoding('latin1');
    socket.on('data', (text) => {
      said += text;
      if (options.until?.test(said)) socket.destroy();
    });
    // A server that refuses may close while the client still writes.
    socket.on('error', (error) => (socket.bytesWritten === 0 ? reject(error) : undefined));
    socket.on('close', () => resolve(said));
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    if (options.end) socket.end(buffer);
    else socket.write(buffer);
  });
}

/** The statuses of all answers in what a server said, in order. */
export function statusesOf(said: string): number[] {
  return [...said.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
