import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Stands between a client and a store, for tests. `goDown` cuts every connection and refuses new ones; `goUp` ends that.
 * `loseAnswers` forwards what the client sends but cuts the connection instead of answering, as often as said.
 */
export async function createTestProxy(target: { host: string; port: number }) {
  const sockets = new Set<Socket>();
  let isDown = false;
  let answersToLose = 0;

  const server = createServer((client) => {
    const store = connect(target.port, target.host);
    for (const socket of [client, store]) {
      sockets.add(socket);
      socket.on('error', () => {}); // the other end went away
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        store.destroy();
      });
    }
    if (isDown) client.destroy();
    client.pipe(store);
    store.on('data', (chunk) => {
      if (answersToLose === 0) {
        client.write(chunk);
        return;
      }
      answersToLose -= 1;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    goDown(): void {
      isDown = true;
      cut();
    },
    goUp(): void {
      isDown = false;
    },
    loseAnswers(count: number): void {
      answersToLose = count;
    },
    lostAll: () => answersToLose === 0,
    async close(): Promise<void> {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
