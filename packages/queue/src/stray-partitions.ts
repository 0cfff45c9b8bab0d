import type { Redis } from 'ioredis';
import { deadLettersKey, eventsKey } from './log-keys.ts';

const partitionsMax = 256;

/** Partitions that nobody reads, because there are only so many, and that hold entries or dead letters all the same. */
export async function findStrayPartitions(redis: Redis, partitions: number): Promise<number[]> {
  const strays: number[] = [];
  for (let partition = partitions; partition < partitionsMax; partition++) {
    const lengths = await Promise.all([redis.xlen(eventsKey(partition)), redis.xlen(deadLettersKey(partition))]);
    if (lengths.some((length) => length > 0)) strays.push(partition);
  }
  return strays;
}
