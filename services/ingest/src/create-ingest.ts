import type { IncomingMessage } from 'node:http';
import { peerHeader } from '@meridian/peers/peer-claim';
import type { Peers } from '@meridian/peers/peers';
import { createEventLog } from '@meridian/queue/event-log';
import { createForwardSpool } from '@meridian/queue/forward-spool';
import { watchLogLevel } from '@meridian/queue/log-level';
import { subscribeWebsiteChanges } from '@meridian/queue/website-changes';
import type { Registry } from '@meridian/registry/registry';
import { createAddressList } from '@meridian/runtime/http/address-list';
import { createClientAddresses } from '@meridian/runtime/http/client-address';
import type { Logger } from '@meridian/runtime/logger';
import type { Redis } from 'ioredis';
import { createCacheTokens } from './cache-token.ts';
import { createClientProfiles } from './client/client-profile.ts';
import { openGeo } from './client/geo.ts';
import { createCollect } from './collect.ts';
import type { CollectCounts } from './collect-counts.ts';
import type { CollectSettings } from './config.ts';
import { createIngestHandler, type IngestHandler } from './create-ingest-handler.ts';
import { createBodyReader } from './http/read-body.ts';
import { createOutageLog } from './outage-log.ts';
import { createHandOnEvents } from './regions/hand-on-events.ts';
import { startSpoolLane } from './regions/spool-lane.ts';
import { createSenders } from './sender.ts';
import { createSessionIds } from './session-ids.ts';
import { createWebsiteDirectory } from './website-directory.ts';

export type IngestDeps = {
  /** A `producer` connection, of the event log above all: one that does not answer is broken off. */
  redis: Redis;
  /** A `worker` connection for news of websites alone: a connection that listens can do nothing else. */
  subscriber: Redis;
  registry: Pick<Registry, 'findWebsiteStatuses'>;
  /** The other regions. */
  peers: Peers;
  config: Readonly<CollectSettings>;
  /** What is counted is counted here. */
  counts: CollectCounts;
  logger: Logger;
  /** Unix ms. */
  now?: () => number;
};

/** Collection of one region, ready to answer: reads the geo file and begins to listen to news of websites. */
export async function createIngest(deps: IngestDeps): Promise<IngestHandler> {
  const { redis, subscriber, registry, peers, config, counts, logger, now = Date.now } = deps;
  const websites = createWebsiteDirectory({
    findWebsiteStatuses: registry.findWebsiteStatuses,
    reportOutage: createOutageLog(logger, 'websites were not looked up'),
    now,
  });
  // News may be missed until the connection listens, and whenever it was lost. Not waited for: without Redis a
  // collector starts as well, and says 503.
  subscriber.on('ready', () => websites.doubtAll());
  subscribeWebsiteChanges(subscriber, (websiteId) => websites.forget(websiteId)).then(
    () => websites.doubtAll(),
    (error: unknown) => logger.error({ err: error }, 'no news of websites'),
  );

  const partitions = config.EVENT_LOG_PARTITIONS;
  counts.overflow = watchLogLevel({
    redis,
    partitions,
    maxBytes: config.EVENT_LOG_MAX_BYTES,
    maxAgeMs: config.EVENT_LOG_MAX_AGE_S * 1_000,
  });
  const { APP_SECRET: appSecret, APP_SECRET_PREVIOUS: previousSecrets } = config;
  const tokens = createCacheTokens(appSecret, previousSecrets);
  const requests = createForwardSpool(redis);
  const handOn = createHandOnEvents({
    peers,
    spool: config.FORWARD_SPOOL === 'on' ? { requests, maxBytes: config.FORWARD_SPOOL_MAX_BYTES } : null,
    tokens,
    reportOutage: createOutageLog(logger, 'events were not handed on to their region'),
    now,
  });
  // Also without a spool: what was kept while there was one is delivered.
  const { regions } = peers;
  if (regions.length > 0) startSpoolLane({ regions, spool: requests, deliver: handOn.deliver, counts, logger });
  counts.spooled = () => Promise.all(regions.map((region) => requests.waiting(region)));
  counts.spoolMaxBytes = config.FORWARD_SPOOL === 'on' ? config.FORWARD_SPOOL_MAX_BYTES : null;
  const claimOf = ({ method = '', url = '', headers }: IncomingMessage) =>
    peers.claimOf({ method, path: url, header: headers[peerHeader] });
  return createIngestHandler({
    regions: [config.REGION, ...peers.regions],
    claimOf,
    handOn,
    counts,
    logger,
    logSampleRate: config.LOG_SAMPLE_RATE,
    eventLog: createEventLog({ redis, partitions, now, overflow: counts.overflow }),
    reportOutage: createOutageLog(logger, 'events were not taken'),
    tokens,
    readBody: createBodyReader(),
    senderOf: createSenders({
      addressOf: createClientAddresses({
        trustedProxies: config.TRUSTED_PROXIES,
        clientIpHeader: config.CLIENT_IP_HEADER,
      }),
      tokens,
      now,
    }),
    collect: createCollect({
      region: config.REGION,
      isPeer: peers.has,
      websites,
      // By the oldest secret, so that a new one makes no new visitors.
      sessions: createSessionIds(previousSecrets.at(-1) ?? appSecret),
      profileOf: createClientProfiles(config.BOT_FILTER),
      placeOf: await openGeo(config.GEOIP_DB),
      isBlocked: createAddressList(config.IGNORE_IP),
      allowOverrides: config.COLLECT_OVERRIDES === 'on',
    }),
  });
}
