import { randomBytes } from 'node:crypto';
import type { PeerSettings } from '@meridian/peers/peer-settings';
import { createPeers } from '@meridian/peers/peers';
import { createJobs } from '@meridian/queue/jobs';
import { hashPassword } from '@meridian/registry/credentials';
import { createRegistry } from '@meridian/registry/registry';
import { createTestRegistry } from '@meridian/registry/registry-fixtures';
import type { AccountRole } from '@meridian/registry/rows';
import { createLogger } from '@meridian/runtime/logger';
import { connectRedis } from '@meridian/runtime/redis';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { createQueryApp } from './create-query-app.ts';
import { createQueryCounts } from './query-counts.ts';
import type { QueryConfig, QueryDeps } from './query-env.ts';
import { defaultQuestionLimits } from './statistics/question-turns.ts';

type Store = { url: string; drop(): Promise<void> };
const testConfig: QueryConfig = {
  region: 'us',
  mode: 'self-hosted',
  appSecret: 'a secret of at least thirty-two bytes',
  previousAppSecrets: [],
  trustedProxies: [],
  clientIpHeader: undefined,
  logSampleRate: 0,
  questionLimits: defaultQuestionLimits,
};

type TestStores = { postgres: Store; redis: Store; clickhouseUrl: string };

/** One request: `token` is sent as bearer, `raw` instead of `body` as JSON, `address` is the peer's. */
export type Call = {
  token?: string | undefined;
  body?: unknown;
  raw?: string;
  headers?: Record<string, string>;
  address?: string;
};

/**
 * For tests: the query API over empty stores, and short ways to fill and ask it. Paths are written without prefix.
 * `clock.offsetMs` sets its clock ahead.
 */
export async function createTestApi(stores: TestStores, config: Partial<QueryConfig> = {}) {
  const fixtures = await createTestRegistry(stores.postgres);
  const clock = { offsetMs: 0 };
  const deps = await connectDeps(stores, fixtures.registry, config, () => new Date(Date.now() + clock.offsetMs));
  const prefix = deps.config.mode === 'cloud' ? '/v1' : '/api';
  const { call, ok } = createClient(createQueryApp(deps), prefix);

  /** A new account that is logged in. */
  const newAccount = async (role: AccountRole = 'user') => {
    const password = `secret-${randomBytes(4).toString('hex')}`;
    const user = await fixtures.newUser({ role, passwordHash: await hashPassword(password) });
    const { token } = await ok('POST', '/auth/login', { body: { username: user.username, password } });
    return { id: user.id, username: user.username, password, token: String(token) };
  };

  /**
   * Another process of the same API: with a memory and connections of its own, the settings of `changes`, and
   * `peerSettings` if it has peers.
   */
  const newProcess = async (changes: Partial<QueryConfig> = {}, peerSettings?: PeerSettings) => {
    const registry = createRegistry(fixtures.url, { timeoutMs: 30_000 });
    const own = await connectDeps(stores, registry, { ...config, ...changes }, deps.now, peerSettings);
    const closeProcess = async () => {
      await disconnect(own);
      await registry.close();
    };
    return { ...createClient(createQueryApp(own), prefix), deps: own, close: closeProcess };
  };

  const close = async () => {
    await disconnect(deps);
    await fixtures.close();
    await stores.redis.drop();
  };
  return { deps, clock, fixtures, call, ok, newAccount, newProcess, close };
}

async function disconnect({ jobs, warehouse, redis, peers }: QueryDeps): Promise<void> {
  await Promise.all([jobs.close(), warehouse.close(), peers.close()]);
  redis.disconnect();
}

async function connectDeps(
  stores: TestStores,
  registry: QueryDeps['registry'],
  config: Partial<QueryConfig>,
  now: () => Date,
  peerSettings: PeerSettings = { PEERS: new Map() },
): Promise<QueryDeps> {
  const logger = createLogger({ service: 'query', level: 'silent' });
  // One that waits: tests share their machine with each other, so that a late answer is no outage.
  const redis = connectRedis(stores.redis.url, { role: 'worker', logger });
  await redis.connect();
  const counts = createQueryCounts();
  const allConfig = { ...testConfig, ...config };
  return {
    registry,
    // As a big website is answered: the few events of a test would be read themselves.
    warehouse: createWarehouse(stores.clickhouseUrl, { onQuery: counts.question, readFrom: 'rollups' }),
    redis,
    jobs: createJobs(stores.redis.url),
    peers: createPeers(allConfig.region, peerSettings, () => now().getTime()),
    config: allConfig,
    logger,
    counts,
    now,
  };
}

function createClient(app: ReturnType<typeof createQueryApp>, prefix: string) {
  const call = async (method: string, path: string, { token, body, raw, headers = {}, address }: Call = {}) => {
    const sent = raw ?? (body === undefined ? null : JSON.stringify(body));
    const allHeaders = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(sent !== null && { 'content-type': 'application/json' }),
      ...headers,
    };
    const connection = { incoming: { socket: { remoteAddress: address }, headers: allHeaders } };
    const answer = await app.request(prefix + path, { method, headers: allHeaders, body: sent }, connection);
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
  };

  /** The body of an answer that must be 200. */
  const ok = async (method: string, path: string, options?: Call) => {
    const { status, json, text } = await call(method, path, options);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json;
  };
  return { call, ok };
}
