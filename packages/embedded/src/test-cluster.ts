import { chmodSync, mkdtempSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runClickHouse } from './clickhouse-store.ts';
import { freePort } from './ports.ts';
import { removeStores, type Stores, startStores } from './stores.ts';
import type { ProductUser } from './test-stores.ts';

const cluster = 'test_cluster';

/** A ClickHouse cluster for one test file. */
export type TestCluster = {
  /** What CLICKHOUSE_CLUSTER is set to. */
  cluster: string;
  /** Address of the cluster for a user of infra/clickhouse, without a database: each request goes to another node. */
  urlFor(user: ProductUser): string;
  /** Addresses of the nodes, one for each shard. */
  nodeUrls: string[];
  /** Whether other nodes reach this one. */
  setReachable(shard: number, isReachable: boolean): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts a ClickHouse for each shard; they know each other and speak over TCP, as the nodes of a cluster do.
 *
 * The embedded engine has no Keeper and runs no replicated table. So what Keeper's queue of statements does is done on
 * the way here: a statement ON CLUSTER is run by every node, with plain engines in the place of replicated ones.
 * Everything else is ClickHouse's own.
 */
export async function startClickHouseCluster(shards: number): Promise<TestCluster> {
  const ports: number[] = [];
  while (ports.length < shards) ports.push(await freePort());
  const nodes = await Promise.all(ports.map((_, shard) => startNode(ports, shard)));
  const nodeUrls = nodes.map(({ stores }) => stores.clickhouseUrl);
  const setReachable = async (shard: number, isReachable: boolean): Promise<void> => {
    await runClickHouse(nodeUrls[shard] ?? '', `SYSTEM ${isReachable ? 'START' : 'STOP'} LISTEN TCP`);
  };
  await Promise.all(nodes.map((_, shard) => setReachable(shard, true)));
  const entrance = await startEntrance(nodeUrls);
  return {
    cluster,
    urlFor: (user) => `http://${user}@127.0.0.1:${(entrance.address() as AddressInfo).port}`,
    nodeUrls,
    setReachable,
    async stop() {
      entrance.closeAllConnections();
      entrance.close();
      for (const { stores, dataDir } of nodes) {
        await stores.stop();
        await removeStores(dataDir);
      }
    },
  };
}

async function startNode(ports: readonly number[], shard: number): Promise<{ stores: Stores; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-test-'));
  chmodSync(dataDir, 0o755);
  const clickhouseConfig = config(ports, shard);
  const stores = await startStores({ dataDir, only: ['clickhouse'], clickhouseConfig, log: console.error });
  return { stores, dataDir };
}

function config(ports: readonly number[], shard: number): string {
  const shards = ports.map(
    (port) =>
      `<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>${port}</port></replica></shard>`,
  );
  return `<clickhouse>
  <tcp_port>${ports[shard]}</tcp_port>
  <macros><shard>${shard + 1}</shard><replica>1</replica></macros>
  <remote_servers><${cluster}><secret>of this test</secret>${shards.join('')}</${cluster}></remote_servers>
</clickhouse>
`;
}

async function startEntrance(nodeUrls: readonly string[]): Promise<Server> {
  let turn = 0;
  const server = createServer(async (incoming, outgoing) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      const statement = body.toString('latin1');
      if (!statement.includes(`ON CLUSTER '${cluster}'`)) {
        const node = nodeUrls[turn++ % nodeUrls.length] ?? '';
        return passOn(await ask(node, incoming, body, outgoing), outgoing);
      }
      if (statement.includes('SYSTEM SYNC REPLICA')) return void outgoing.end();
      const answers: IncomingMessage[] = [];
      for (const node of nodeUrls) answers.push(await ask(node, incoming, Buffer.from(onOneNode(statement), 'latin1')));
      const failed = answers.find(({ statusCode }) => statusCode !== 200);
      for (const answer of answers) if (answer !== (failed ?? answers[0])) answer.resume();
      passOn(failed ?? (answers[0] as IncomingMessage), outgoing);
    } catch {
      outgoing.destroy();
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return server;
}

function onOneNode(statement: string): string {
  return statement
    .replaceAll(`ON CLUSTER '${cluster}'`, '')
    .replace(/Replicated((?:Aggregating|Replacing)?MergeTree)\('[^']*', '[^']*'(?:, )?/g, '$1(')
    .replace(
      /\breplicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = \d+/g,
      'non_replicated_deduplication_window = $1',
    );
}

/** Sends the request to the node, with the password that its user has there. With its client away it is given up. */
function ask(
  node: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  client?: ServerResponse,
): Promise<IncomingMessage> {
  const { hostname, port, password } = new URL(node);
  const { authorization = '', 'transfer-encoding': _, ...rest } = headers;
  const [user] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        hostname,
        port,
        method,
        path: url,
        auth: `${user}:${password}`,
        headers: { ...rest, 'content-length': body.length },
      },
      resolve,
    );
    asking.on('error', reject);
    client?.on('close', () => asking.destroy());
    asking.end(body);
  });
}

function passOn(answer: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
  answer.pipe(outgoing);
}
