import type { HttpBindings } from '@hono/node-server';
import type { PeerClaim } from '@meridian/peers/peer-claim';
import type { Peers } from '@meridian/peers/peers';
import type { Jobs } from '@meridian/queue/jobs';
import type { Registry } from '@meridian/registry/registry';
import type { AccountRole, Share } from '@meridian/registry/rows';
import type { Logger } from '@meridian/runtime/logger';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import type { QueryCounts } from './query-counts.ts';
import type { QuestionLimits } from './statistics/question-turns.ts';

/** What the query API must know of the instance it runs in. */
export type QueryConfig = {
  /** The region that this process serves, e.g. 'us'. */
  region: string;
  /** `cloud` has no logins, no /api prefix and no user management. */
  mode: 'self-hosted' | 'cloud';
  /** Signs session and share tokens; at least 32 bytes. */
  appSecret: string;
  /** Secrets that signed them before and still verify. */
  previousAppSecrets: readonly string[];
  /** Addresses and CIDR ranges of proxies whose forwarding headers are believed. */
  trustedProxies: readonly string[];
  /** The header in which such a proxy tells the client's address, instead of X-Forwarded-For and Forwarded. */
  clientIpHeader: string | undefined;
  /** The share of requests that are logged, 0 to 1. */
  logSampleRate: number;
  questionLimits: QuestionLimits;
};

/** Everything the query API works with. One constructor per process makes it. */
export type QueryDeps = {
  registry: Registry;
  warehouse: Warehouse;
  /** A `producer` connection: fails fast. */
  redis: Redis;
  jobs: Jobs;
  /** The other regions. */
  peers: Peers;
  config: QueryConfig;
  logger: Logger;
  /** What is counted is counted here. */
  counts: QueryCounts;
  now: () => Date;
};

/** The authenticated party of a request. */
export type Caller = {
  userId: string;
  username: string;
  role: AccountRole;
  homeRegion: string;
  createdAt: Date;
  credential:
    | { kind: 'api-key'; keyId: string; name: string }
    | { kind: 'session'; sessionId: string; expiresAt: Date };
};

/** Whom a share link lets read statistics of its website, and nothing else. It is no account. */
export type ShareReader = { share: Pick<Share, 'id' | 'websiteId' | 'parameters'> };

/** Who asks what a share link may ask, too. */
export type Reader = Caller | ShareReader;

/** Hono environment of every route: `c.get('caller')`. */
export type QueryEnv = {
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    /**
     * What the region says that has handed the request on; undefined where a client sent it, null where that cannot be
     * told.
     */
    peer: PeerClaim | null | undefined;
    /**
     * Set for every route behind `authenticate` but those that a share link may ask (auth/share-token-routes.ts), which
     * take `reader`.
     */
    caller: Caller;
    /** Set for every route behind `authenticate`. */
    reader: Reader;
    /** Fields of the request's one log line; add to it, never a body, an address or a key. */
    logFields: Record<string, unknown>;
  };
};
