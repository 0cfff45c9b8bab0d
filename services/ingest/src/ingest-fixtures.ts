import { request as httpRequest } from 'node:http';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createPeers } from '@meridian/peers/peers';
import { toLogBatch } from '@meridian/queue/log-batch';
import { eventsKeys } from '@meridian/queue/log-keys';
import { eventsOf } from '@meridian/queue/test-events';
import type { Registry } from '@meridian/registry/registry';
import { createTestRegistry } from '@meridian/registry/registry-fixtures';
import { listen } from '@meridian/runtime/http/server';
import { createLogger } from '@meridian/runtime/logger';
import { connectRedis } from '@meridian/runtime/redis';
import { createCollectCounts } from './collect-counts.ts';
import { CollectSettings } from './config.ts';
import { createIngest } from './create-ingest.ts';
import { createProcessRoutes } from './process-routes.ts';

export const chrome =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';

/** An array is sent as that many headers. */
type SentHeaders = Record<string, string | string[]>;

export type Reply = { status: number; headers: Record<string, string | string[] | undefined>; text: string };

/** For tests: a collector on a port of its own, over an empty registry and an empty Redis, with an account. */
export async function startTestIngest(
  settings: Record<string, string> = {},
  options: {
    redisUrl?: string;
    /** Asked for each website in place of the registry. */
    findWebsiteStatus?: Registry['findWebsiteStatus'];
    now?: () => number;
  } = {},
) {
  const fixtures = await createTestRegistry(await createPostgresDatabase());
  const owner = await fixtures.newUser();
  const ownRedis = options.redisUrl === undefined ? await createRedisDatabase() : null;
  const redisUrl = options.redisUrl ?? ownRedis?.url ?? '';
  const logger = createLogger({ service: 'ingest', level: 'silent' });
  const redis = connectRedis(redisUrl, { role: 'producer', logger });
  const subscriber = connectRedis(redisUrl, { role: 'worker', logger });
  /** For what the test itself asks Redis. */
  const reader = connectRedis(redisUrl, { role: 'worker', logger });
  await redis.connect();

  const config = CollectSettings.parse({ APP_SECRET: 'a secret of at least thirty-two bytes', ...settings });
  const { findWebsiteStatus } = options;
  const registry = findWebsiteStatus
    ? {
        async findWebsiteStatuses(ids: readonly string[]) {
          const found = await Promise.all(ids.map(async (id) => [id, await findWebsiteStatus(id)] as const));
          return new Map(found.flatMap(([id, status]) => (status ? [[id, status]] : [])));
        },
      }
    : fixtures.registry;
  const counts = createCollectCounts();
  const handle = await createIngest({
    redis,
    subscriber,
    registry,
    peers: createPeers(config.REGION, config, options.now),
    config,
    counts,
    logger,
    ...(options.now && { now: options.now }),
  });
  const server = await listen(createProcessRoutes(handle, { stores: { redis: () => redis.ping() } }), {
    port: 0,
    host: '127.0.0.1',
  });

  /** All events in the log, in the order of their entries. */
  async function storedEvents(websiteId?: string) {
    const entries = (await Promise.all(eventsKeys(1).map((stream) => reader.xrangeBuffer(stream, '-', '+')))).flat();
    const events = eventsOf(toLogBatch('live', [entries], false).rows);
    return websiteId === undefined ? events : events.filter((event) => event.websiteId === websiteId);
  }

  return {
    redisUrl,
    port: server.port,
    counts,
    registry: fixtures.registry,
    reader,
    storedEvents,
    newWebsite: async (fields: { region?: string } = {}) => (await fixtures.newWebsite(owner, fields)).id,
    send: (body: unknown, headers: SentHeaders = {}) => post(server.port, '/api/send', body, headers),
    batch: (body: unknown, headers: SentHeaders = {}) => post(server.port, '/api/batch', body, headers),
    stop: async () => {
      await server.close(1_000);
      for (const connection of [redis, subscriber, reader]) connection.disconnect();
      await fixtures.close();
      await ownRedis?.drop();
    },
  };
}

/** POST with a browser's User-Agent unless another is given; a string or Buffer is sent as it is. */
export function post(port: number, path: string, body: unknown, headers: SentHeaders = {}): Promise<Reply> {
  const raw = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return call(port, 'POST', path, raw, { 'user-agent': chrome, ...headers });
}

/** Sends exactly the headers given, and the path byte for byte. */
export function call(
  port: number,
  method: string,
  path: string,
  body: string | Buffer | undefined,
  headers: SentHeaders,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() }),
      );
    });
    // A refused body may not be read to its end.
    request.on('error', (error) => (request.destroyed && request.writableFinished ? undefined : reject(error)));
    request.end(body);
  });
}
