import { cpus, loadavg, totalmem } from 'node:os';
import type { Redis } from 'ioredis';

/** How many processes wanted a core in the last minute: well above 0 before a measurement, something else runs on the machine. */
export const loadAverage = (): string => (loadavg()[0] ?? 0).toFixed(1);

/** The machine, the versions and the setting that the figures belong to. */
export async function hardwareLine(redis: Redis): Promise<string> {
  const info = await redis.info('server');
  const version = /redis_version:(\S+)/.exec(info)?.[1];
  const [, fsync] = (await redis.config('GET', 'appendfsync')) as string[];
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${cpus().length} cores ${cpus()[0]?.model.trim()}, ${memory}, Node ${process.versions.node}, Redis ${version}, appendfsync ${fsync}`;
}
