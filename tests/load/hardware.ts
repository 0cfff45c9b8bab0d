import { cpus, totalmem } from 'node:os';
import type { Redis } from 'ioredis';

/** The machine and the versions that the figures belong to. */
export async function hardwareLine(redis: Redis): Promise<string> {
  const info = await redis.info('server');
  const version = /redis_version:(\S+)/.exec(info)?.[1];
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${cpus().length} cores ${cpus()[0]?.model.trim()}, ${memory}, Node ${process.versions.node}, Redis ${version}`;
}
