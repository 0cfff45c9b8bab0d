import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

type Recorded = { headers: Record<string, string>; body: Buffer };

const ofTheConnection = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
  'content-length',
]);

/**
 * Stands in front of ClickHouse, forwards every question once and repeats its answer from then on: what the query
 * service pays for a question is the same, and ClickHouse does not need the cores, of which it would leave it too few
 * for a rate that says something.
 */
export async function startRecording(clickhouseUrl: string): Promise<{ url: string; close(): void }> {
  const target = new URL(clickhouseUrl);
  const { origin } = target;
  const answers = new Map<string, Promise<Recorded>>();

  async function ask(request: IncomingMessage, body: Buffer<ArrayBuffer>): Promise<Recorded> {
    const { authorization = '', 'content-type': contentType } = request.headers;
    const response = await fetch(new URL(request.url ?? '', origin), {
      method: request.method ?? 'GET',
      headers: { authorization, ...(contentType && { 'content-type': contentType }) },
      ...(request.method === 'POST' && { body }),
    });
    const answer = Buffer.from(await response.arrayBuffer());
    if (!response.ok) throw new Error(`ClickHouse: ${answer}`);
    const headers: Record<string, string> = {};
    response.headers.forEach((value, name) => {
      if (!ofTheConnection.has(name)) headers[name] = value;
    });
    return { headers: { ...headers, 'content-length': String(answer.length) }, body: answer };
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const body = Buffer.concat(chunks);
      const key = `${request.method} ${request.url}\n${body}`;
      const answer = answers.get(key) ?? ask(request, body);
      answers.set(key, answer);
      const recorded = await answer;
      response.writeHead(200, recorded.headers).end(recorded.body);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.hostname = '127.0.0.1';
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
