import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Target = { host: string; port: number };
export type TestProxy = Awaited<ReturnType<typeof createTestProxy>>;

type Connection = { client: Socket; server: Socket; answers: (() => void)[]; isSilent: boolean };
type Refusal = { status: number; body: string };

/**
 * Stands between clients and a server, for tests, and does to them what networks and servers do at their worst. With
 * several targets every connection goes to the next one that takes it, as with a load balancer.
 */
export async function createTestProxy(...firstTargets: Target[]) {
  let targets = firstTargets;
  const connections = new Set<Connection>();
  let isDown = false;
  let isHanging = false;
  let delayMs = 0;
  let refusal: Refusal | null = null;
  let some: (Refusal & { text: string; left: number }) | null = null;
  let answersToLose = 0;
  let lost = 0;
  let next = 0;

  const listener = createServer((client) => {
    client.on('error', () => {}); // it went away
    if (isDown) client.resetAndDestroy();
    else void join(client);
  });

  async function join(client: Socket): Promise<void> {
    const server = await connectToNext();
    if (!server) {
      client.resetAndDestroy();
      return;
    }
    const connection: Connection = { client, server, answers: [], isSilent: false };
    connections.add(connection);
    for (const socket of [client, server]) {
      socket.on('error', () => {}); // the other end went away
      socket.on('close', () => {
        connections.delete(connection);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (connection.isSilent) return;
      const refused = refusal ?? refusalOf(chunk);
      if (refused) refuse(client, refused);
      else if (!client.writableEnded) server.write(chunk); // else the rest of a request that was refused
    });
    client.on('end', () => server.end());
    server.on('data', (chunk) => answer(connection, chunk));
    server.on('end', () => later(connection, () => client.end()));
  }

  function refusalOf(chunk: Buffer): Refusal | null {
    if (some === null || some.left === 0 || !chunk.includes(some.text)) return null;
    some.left -= 1;
    return some;
  }

  async function connectToNext(): Promise<Socket | null> {
    const first = next++ % targets.length;
    for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
      const socket = connect(target.port, target.host);
      socket.setNoDelay(true);
      try {
        await once(socket, 'connect');
        return socket;
      } catch {
        socket.destroy(); // it does not listen: the next one may
      }
    }
    return null;
  }

  function answer(connection: Connection, chunk: Buffer): void {
    if (connection.isSilent) return;
    if (answersToLose > 0) {
      answersToLose -= 1;
      lost += 1;
      connection.client.resetAndDestroy();
      return;
    }
    later(connection, () => connection.client.write(chunk));
  }

  /** In order, however the delay changes meanwhile. */
  function later(connection: Connection, act: () => void): void {
    if (!isHanging && delayMs === 0 && connection.answers.length === 0) {
      act();
      return;
    }
    connection.answers.push(act);
    if (!isHanging) setTimeout(() => connection.answers.shift()?.(), delayMs);
  }

  function cut(): void {
    for (const { client, server } of connections) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    /** Where new connections go from now on. */
    setTargets(others: Target[]): void {
      targets = others;
    },
    /** Resets every connection and refuses new ones. */
    goDown(): void {
      isDown = true;
      cut();
    },
    /** Resets every connection; new ones are taken. */
    cut,
    /** Nothing passes on the connections that there are, in either direction; new ones work. */
    silence(): void {
      for (const connection of connections) connection.isSilent = true;
    },
    /** Requests arrive, answers do not: they come when the server goes on. */
    hang(): void {
      isHanging = true;
    },
    /** Answers take so much longer. */
    slowDown(ms: number): void {
      delayMs = ms;
    },
    /** Answers every HTTP request itself, and forwards none. */
    answerAll(status: number, body: string): void {
      refusal = { status, body };
    },
    /** Answers HTTP requests whose head has the text itself, as often as said, and forwards none of these. */
    answerSome(text: string, left: number, status: number, body: string): void {
      some = { text, left, status, body };
    },
    /** How many requests `answerSome` has still to answer. */
    someLeft: () => some?.left ?? 0,
    /** Ends what `goDown`, `hang`, `slowDown`, `answerAll` and `answerSome` began. */
    goUp(): void {
      isDown = false;
      isHanging = false;
      delayMs = 0;
      refusal = null;
      some = null;
      for (const { answers } of connections) for (const act of answers.splice(0)) act();
    },
    /** Forwards what the client sends but cuts the connection instead of answering, as often as said. */
    loseAnswers(count: number): void {
      answersToLose = count;
    },
    lostAll: () => answersToLose === 0,
    /** How many answers were lost in all. */
    lost: () => lost,
    async close(): Promise<void> {
      cut();
      listener.close();
      await once(listener, 'close');
    },
  };
}

function refuse(client: Socket, { status, body }: Refusal): void {
  client.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
