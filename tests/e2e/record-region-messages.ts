/*
 * Records what a region of one version sends to one of another, and what that answers:
 *
 *   DATA_DIR=/tmp/stores npm run --silent stores > /tmp/stores.env     # in another terminal; see CONTRIBUTING.md
 *   set -a; . /tmp/stores.env; set +a
 *   node --import tsx tests/e2e/record-region-messages.ts . /tmp/version-1 > tests/e2e/region-messages/2-to-1.jsonl
 *
 * with the checkouts, installed, of who sends and who is sent to. Versions are numbered as region-versions.test.ts
 * tells.
 */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  appSecret,
  clientEvents,
  clientQuestions,
  insertApiKey,
  peerSecret,
  recordedAtMs,
  startRelay,
  websites,
} from './region-exchanges.ts';

for (const store of ['DATABASE', 'CLICKHOUSE', 'REDIS'])
  process.env[`TEST_${store}_URL`] ??= process.env[`${store}_URL`];

/** What is used of a checkout. Its types are that version's own. */
async function load(checkout: string) {
  // biome-ignore lint/suspicious/noExplicitAny: of whatever version it is
  const from = async (file: string): Promise<any> => import(pathToFileURL(resolve(checkout, file)).href);
  const files = [
    'ingest/src/ingest-fixtures',
    'query/src/query-fixtures',
    'query/src/create-query-app',
    'query/src/create-query-listener',
  ];
  const services = await Promise.all(files.map((file) => from(`services/${file}.ts`)));
  const rest = [await from('packages/peers/src/peers.ts'), await from('packages/embedded/src/test-stores.ts')];
  return Object.assign({}, ...services, ...rest);
}

const now = () => recordedAtMs;
const findWebsiteStatus = async (id: string) => ({
  region: id === websites.eu ? 'eu' : 'us',
  resetAt: null,
  deleted: false,
});
const [sender, receiver] = [await load(process.argv[2] ?? ''), await load(process.argv[3] ?? '')];
const nowhere = 1;
let what = '';
const lines: object[] = [];

function startCollector(version: typeof sender, REGION: 'us' | 'eu', port: number, more = {}) {
  const PEERS = `${REGION === 'us' ? 'eu' : 'us'}=http://127.0.0.1:${port}`;
  return version.startTestIngest(
    { REGION, PEERS, PEER_SECRET: peerSecret, APP_SECRET: appSecret, ...more },
    { findWebsiteStatus, now },
  );
}

const eu = await startCollector(receiver, 'eu', nowhere);
const relay = await startRelay(eu.port, () => what);
const us = await startCollector(sender, 'us', relay.port);
const keeping = await startCollector(sender, 'us', nowhere, { FORWARD_SPOOL: 'on' });
for (const { route, body, headers, ...one } of clientEvents) {
  what = one.what;
  await us[route](body, headers);
  if (what.includes('key')) await keeping[route](body, headers);
}
lines.push(...relay.exchanges);
const kept: [string, string[]][] = await keeping.reader.xrange('forward:{eu}', '-', '+');
for (const { stop } of [us, keeping, eu]) await stop();
await relay.close();

async function startApi(version: typeof sender) {
  const [postgres, redis] = [await version.createPostgresDatabase(), await version.createRedisDatabase()];
  return version.createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL });
}
const [usApi, euApi] = [await startApi(sender), await startApi(receiver)];
const peersOf = (version: typeof sender, region: string, other: string, port: number) =>
  version.createPeers(region, { PEER_SECRET: peerSecret, PEERS: new Map([[other, `http://127.0.0.1:${port}`]]) }, now);
const euDeps = {
  ...euApi.deps,
  config: { ...euApi.deps.config, region: 'eu' },
  peers: peersOf(receiver, 'eu', 'us', nowhere),
};
const server = createServer(receiver.createQueryListener(euDeps) as RequestListener);
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const asking = await startRelay((server.address() as AddressInfo).port, () => what);
const app = sender.createQueryApp({ ...usApi.deps, peers: peersOf(sender, 'us', 'eu', asking.port) });
await insertApiKey(usApi.fixtures);
for (const { path, method, headers, body = null, ...one } of clientQuestions) {
  what = one.what;
  await (await app.request(path, { method, headers, body })).text();
}
lines.push(...asking.exchanges, ...kept.map(([, [, text]]) => ({ what: 'kept', text })));
for (const line of lines) console.log(JSON.stringify(line));
process.exit();
