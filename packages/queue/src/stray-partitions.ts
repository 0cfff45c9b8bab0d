import type { Redis } from 'ioredis';
import { deadLettersKey, eventsKey, lanes } from './log-keys.ts';

const partitionsMax = 256;

/** Partitions that nobody reads, because there are only so many, and that hold entries or dead letters all the same. */
export async function findStrayPartitions(redis: Redis, partitions: number): Promise<number[]> {
  const strays: number[] = [];
  for (let partition = partitions; partition < partitionsMax; partition++) {
    const keys = [deadLettersKey(partition), ...lanes.map((lane) => eventsKey(partition, lane))];
    const lengths = await Promise.all(keys.map((key) => redis.xlen(key)));
    if (lengths.some((length) => length > 0)) strays.push(partition);
  }
  return strays;
}
