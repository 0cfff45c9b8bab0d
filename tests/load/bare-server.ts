// The floor of every comparison: node:http that reads the body and answers a constant of the size of a real answer.
import { createServer } from 'node:http';

const answer = JSON.stringify({ cache: 'x'.repeat(180), sessionId: crypto.randomUUID(), visitId: crypto.randomUUID() });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) };

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.writeHead(200, headers).end(answer));
}).listen(Number(process.env.PORT), '127.0.0.1');
