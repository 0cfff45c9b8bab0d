import { cpus, loadavg, totalmem } from 'node:os';
import type { Redis } from 'ioredis';

/**
 * How many processes wanted a core in the last minute: well above 0 before a measurement, something else runs on the
 * machine.
 */
export const loadAverage = (): string => (loadavg()[0] ?? 0).toFixed(1);

/** The machine and the version of node. */
export const machineLine = (): string =>
  `${cpus().length} cores ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;

/** The machine, the versions and the setting that the figures of collection belong to. */
export async function hardwareLine(redis: Redis): Promise<string> {
  const info = await redis.info('server');
  const version = /redis_version:(\S+)/.exec(info)?.[1];
  const [, fsync] = (await redis.config('GET', 'appendfsync')) as string[];
  return `${machineLine()}, Redis ${version}, appendfsync ${fsync}`;
}
