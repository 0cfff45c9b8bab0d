/*
 * Keys of the event log in Redis. What belongs to one partition has one hash tag: its events, dead letters, visits and
 * idempotency records. But a call, a batch and a count are of several partitions, so that a log lies in one Redis and
 * not in a Redis Cluster, which workers refuse.
 */

/** The append script derives the keys of visits from it: change both together. */
export function eventsKey(partition: number): string {
  return `events:{${partition}}`;
}

/** Remembers the answer to one idempotent request. */
export function idempotencyKey(partition: number, key: string): string {
  return `idempotency:{${partition}}:${key}`;
}

/**
 * Finds the records of a website, and perhaps some of others. A request's key is
 * `<route>:<website>:<the client's key>`.
 */
export function idempotencyKeyPattern(websiteId: string): string {
  return `idempotency:*:${websiteId}:*`;
}

export function websiteOfIdempotencyKey(key: string): string | undefined {
  return key.split(':')[3];
}

/**
 * Which partition holds a website's events, by its id, or the record of an idempotent request, by its key (FNV-1a of
 * the text).
 */
export function partitionOf(text: string, partitions: number): number {
  if (partitions === 1) return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
}

/** Events that could not be stored, with the reason. */
export function deadLettersKey(partition: number): string {
  return `dead-letters:{${partition}}`;
}

/** What became of the events, counted: see event-counts.ts. */
export const eventCountsKey = 'event-counts';

/** Which batches were begun, by their token. */
export const manifestsKey = 'event-batches';

/** What was in the log when Redis was last seen to have restarted. */
export const restartKey = 'events-restart';

/** The group in which all workers read. */
export const consumerGroup = 'workers';
