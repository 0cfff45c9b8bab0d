import { once } from 'node:events';
import { connect } from 'node:net';
import type { NextVisitor } from './visitors.ts';

/** A connection on which one visitor after the other sends his requests, one at a time. */
export type Sender = {
  /** Sends the next request. `onAnswer` hears whether something of it was taken: the answer is a 200 with a token. */
  send(onAnswer: (isOk: boolean) => void): void;
  close(): void;
};

/**
 * As cheap as can be, since it shares the machine with what it measures. Understands answers with a content-length
 * only.
 * @throws (in `send`, as an uncaught error) when the server closes the connection
 */
export async function connectSender(port: number, nextVisitor: NextVisitor): Promise<Sender> {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'connect');
  let visitor = nextVisitor();
  let token = '';
  let received = '';
  let isClosing = false;
  let answered: (isOk: boolean) => void = () => {};

  socket.on('close', (hadError) => {
    if (hadError || !isClosing) throw new Error(`the server on port ${port} closed a connection`);
  });
  socket.on('data', (chunk: Buffer) => {
    received = received === '' ? chunk.toString('latin1') : received + chunk.toString('latin1');
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
    if (received.length < headEnd + 4 + length) return;
    const answeredToken = received.startsWith('HTTP/1.1 200') ? tokenIn(received, headEnd) : '';
    received = '';
    if (visitor.keepsToken) token = answeredToken;
    answered(answeredToken !== '');
  });

  return {
    send(onAnswer) {
      answered = onAnswer;
      let request = visitor.nextRequest(token);
      if (request === null) {
        visitor = nextVisitor();
        token = '';
        request = visitor.nextRequest(token) ?? '';
      }
      socket.write(request, 'latin1');
    },
    close() {
      isClosing = true;
      socket.destroy();
    },
  };
}

function tokenIn(answer: string, from: number): string {
  const start = answer.indexOf('"cache":"', from) + 9;
  return start < 9 ? '' : answer.slice(start, answer.indexOf('"', start));
}
