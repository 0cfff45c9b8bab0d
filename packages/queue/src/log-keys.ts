/*
 * Keys of the event log in Redis. What belongs to one partition has one hash tag: its events, dead letters, visits and
 * idempotency records. But a call, a batch and a count are of several partitions, so that a log lies in one Redis and
 * not in a Redis Cluster, which workers refuse.
 */

/**
 * Events take one of two ways to the worker. Those of long ago have one of their own: a block of them touches as many
 * of ClickHouse's partitions as they have months and weeks, and takes seconds for which nobody else waits.
 */
export const lanes = ['live', 'backfill'] as const;
export type Lane = (typeof lanes)[number];

/** Events that are older when they come take the lane of backfill. Clients that were offline send younger ones. */
export const backfillAgeMs = 30 * 86_400_000;

/** The append script derives the keys of visits from it: change both together. */
export function eventsKey(partition: number, lane: Lane = 'live'): string {
  return `${ofLane('events', lane)}:{${partition}}`;
}

/** Every stream of events, or those of one lane. */
export function eventsKeys(partitions: number, of: readonly Lane[] = lanes): string[] {
  return of.flatMap((lane) => Array.from({ length: partitions }, (_, partition) => eventsKey(partition, lane)));
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

/** Which batches of the lane were begun, by their token. */
export const manifestsKey = (lane: Lane = 'live'): string => ofLane('event-batches', lane);

/** What was in the lane when Redis was last seen to have restarted. */
export const restartKey = (lane: Lane = 'live'): string => ofLane('events-restart', lane);

const ofLane = (name: string, lane: Lane): string => (lane === 'live' ? name : `${lane}-${name}`);

/** The group in which all workers read. */
export const consumerGroup = 'workers';
