import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type ErrorCode, errorBody, errorStatus } from '@meridian/contract/errors';
import { plainHeaders } from './process-routes.ts';
import { createRequestIds } from './request-id.ts';

export type HttpServer = {
  /** The port that is really listened on. */
  readonly port: number;
  /**
   * Stops listening, lets running requests finish for at most `graceMs`, then cuts what is left. A connection is closed
   * behind its next answer, which says so, or as soon as it is idle and no answer is being written out: clients would
   * be cut in the middle of a request else.
   */
  close(graceMs: number): Promise<void>;
};

/**
 * A public address meets slow clients: a sender has 10 s for its headers and 30 s for the whole request. A connection
 * on which nothing moves for `timeout` is closed, so that an answer that nobody reads is not kept for ever; that is
 * longer than the slowest answer is waited for.
 */
const slowClients = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  timeout: 120_000,
};

/** How often a server that closes looks for connections that have become idle. */
const idleCheckMs = 50;

/** So many requests may wait on a connection before no more of it is read; those that were read with them wait, too. */
const waitingMax = 50;
/** And so much of their bodies, which lie in node's buffers, where nobody counts them. */
const waitingMaxBytes = 65_536;

/** Far more than proxies and browsers send; what a parser with less patience than ours would cut off is refused. */
const headersMax = 200;

/** What of a connection is in hand. */
type Connection = {
  /** The latest answer that was begun, null before the first. */
  latest: ServerResponse | null;
  /** Requests that came behind it. */
  waiting: { request: IncomingMessage; response: ServerResponse }[];
  /** What came behind these and is no request: it is refused when they are answered, and no more is read. */
  fault: Error | null;
};

function isFull({ waiting, fault }: Connection): boolean {
  if (fault || waiting.length >= waitingMax) return true;
  return waiting.reduce((bytes, { request }) => bytes + request.readableLength, 0) >= waitingMaxBytes;
}

/** Listens; rejects when the port is taken. `port` 0 takes a free one; `timeouts` in ms, of node:http's names. */
export async function listen(
  listener: RequestListener,
  options: { port: number; host?: string; timeouts?: Partial<typeof slowClients> },
): Promise<HttpServer> {
  let isClosing = false;
  const connections = new Map<Socket, Connection>();
  const newRequestId = createRequestIds();
  const answerSound = refuseUnsoundHeads(listener, newRequestId);

  function begin(connection: Connection, { request, response }: Connection['waiting'][number]): void {
    if (isClosing) response.shouldKeepAlive = false;
    connection.latest = response;
    response.once('close', () => beginNext(connection, request.socket));
    answerSound(request, response);
  }

  /** Begins the next request of a connection, unless the answer before it was the last. */
  function beginNext(connection: Connection, socket: Socket): void {
    if (!socket.writable) return;
    const wasFull = isFull(connection);
    const next = connection.waiting.shift();
    if (wasFull && !isFull(connection)) socket.resume();
    if (next) begin(connection, next);
    else if (connection.fault) refuse(socket, connection.fault);
  }

  function refuse(socket: Socket, fault: Error): void {
    socket.write(unreadableAnswer(fault, newRequestId));
    socket.destroy(fault);
  }

  /**
   * Of a connection one request is answered at a time. Trap: node gives all that came in one piece to the listener at
   * once, so that one client would keep everybody waiting.
   */
  const answer: RequestListener = (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection || !socket.writable) return;
    const { latest, waiting } = connection;
    if (!latest || latest.closed) return begin(connection, { request, response });
    waiting.push({ request, response });
    if (isFull(connection)) socket.pause();
  };
  const timeouts = { ...slowClients, ...options.timeouts };
  const server = createServer(
    {
      ...timeouts,
      // Longer than the idle time of common load balancers (60 s), so that they close first.
      keepAliveTimeout: 65_000,
      requireHostHeader: false, // looked at here, with the answer that other errors have
    },
    answer,
  );
  server.timeout = timeouts.timeout;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    answer(request, response);
  });
  // Of node's own, not documented: else it breaks off what waits as soon as the client says that it sends no more.
  Object.assign(server, { httpAllowHalfOpen: true });
  // What it asks for besides may be passed over (RFC 9110, 10.1.1); node would answer in its own form.
  server.on('checkExpectation', answer);
  server.on('clientError', (error: Error, socket: Socket) => {
    const connection = connections.get(socket);
    if (!connection || !socket.writable) return void socket.destroy(error);
    const { latest, waiting } = connection;
    // What waits may have kept us from reading on. Node tells it once for each request: `timeout` alone holds then.
    if ('code' in error && error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && waiting.length > 0) return;
    if (latest?.req.complete && !latest.closed) {
      connection.fault ??= error;
      connection.waiting = waiting.filter(({ request }) => request.complete);
      socket.pause();
    } else if (latest?.headersSent && !latest.req.complete) socket.destroy(error);
    else refuse(socket, error);
  });
  server.on('connection', (socket: Socket) => {
    const connection: Connection = { latest: null, waiting: [], fault: null };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    // Who sends no more behind a request that is in hand has gone away; behind others it has sent what it had.
    socket.on('end', () => {
      if (connection.waiting.length === 0 && !connection.fault) socket.end();
    });
    // Trap: node resumes a socket behind every answer, and for every body that waits. It has begun to read by then:
    // pause() says nothing where the socket counts as paused, so node is told.
    socket.on('resume', () => {
      if (!isFull(connection)) return;
      socket.pause();
      socket.emit('pause');
    });
  });
  // Trap: node, whose close() calls this too, takes a connection for idle while its answer is still being written out.
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const isWriting = [...connections.values()].some(({ latest }) => latest?.writableEnded && !latest.closed);
    if (!isWriting) closeIdle();
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close(graceMs) {
      isClosing = true;
      for (const [socket, { latest }] of connections) {
        if (latest) latest.shouldKeepAlive = false;
        // Opened in advance and never used: node counts it as busy.
        else if (socket.bytesRead === 0) socket.destroy();
      }
      return close(server, graceMs);
    },
  };
}

type RequestIds = ReturnType<typeof createRequestIds>;

/** By the codes of node:http and its parser. */
const unreadable: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'Address and headers of a request must not be longer than 16 KB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request did not arrive in time.'],
};

/** What node:http cannot read never becomes a request, and is answered as other errors are. */
function unreadableAnswer(error: Error, newRequestId: RequestIds): string {
  const [code, message] = unreadable['code' in error ? String(error.code) : ''] ?? [
    'unreadable-request',
    'This is not a request of HTTP/1.1.',
  ];
  const body = JSON.stringify(errorBody(code, message));
  const status = errorStatus[code];
  const headers = {
    ...plainHeaders,
    'x-request-id': newRequestId(undefined),
    connection: 'close',
    'content-length': Buffer.byteLength(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

function refuseUnsoundHeads(listener: RequestListener, newRequestId: RequestIds): RequestListener {
  return (request, response) => {
    const fault = headFault(request);
    if (fault === null) return listener(request, response);
    const [code, message] = fault;
    const requestId = newRequestId(request.headers['x-request-id']);
    response.writeHead(errorStatus[code], { ...plainHeaders, 'x-request-id': requestId, connection: 'close' });
    response.end(JSON.stringify(errorBody(code, message)));
  };
}

/**
 * What node:http lets pass and a server has to refuse (RFC 9112, 2.3 and 3.2), because another one on the way may read
 * it differently.
 */
function headFault({ httpVersionMajor, httpVersionMinor, rawHeaders }: IncomingMessage): [ErrorCode, string] | null {
  if (httpVersionMajor !== 1) return ['bad-request', 'The HTTP version is not supported.'];
  if (rawHeaders.length > 2 * headersMax)
    return ['headers-too-large', `A request must not have more than ${headersMax} headers.`];
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  const isOne = hosts === 1 || (hosts === 0 && httpVersionMinor === 0);
  return isOne ? null : ['bad-request', 'A request must have one Host header.'];
}

/** `100 Continue` is said when the body is first asked for: a client that is refused before that need not send it. */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const onListener = (event: string | symbol) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onListener);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', onListener);
}

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const closingIdle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(closingIdle);
  clearTimeout(timer);
}
