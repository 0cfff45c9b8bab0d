import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type HttpServer = {
  /** The port that is really listened on. */
  readonly port: number;
  /** Stops listening, lets running requests finish for at most `graceMs`, then cuts what is left. */
  close(graceMs: number): Promise<void>;
};

/** Listens; rejects when the port is taken. `port` 0 takes a free one. */
export async function listen(listener: RequestListener, options: { port: number; host?: string }): Promise<HttpServer> {
  const server = createServer(
    {
      // A public address meets slow clients: a sender has 10 s for its headers and 30 s for the whole request.
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      connectionsCheckingInterval: 5_000,
      // Longer than the idle time of common load balancers (60 s), so that they close first.
      keepAliveTimeout: 65_000,
    },
    listener,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: (graceMs) => close(server, graceMs) };
}

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
