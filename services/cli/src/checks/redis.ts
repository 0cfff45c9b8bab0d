import type { Redis } from 'ioredis';
import { type Finding, fail, messageOf, ok, warn } from './finding.ts';

const settingNames = ['appendonly', 'appendfsync', 'maxmemory', 'maxmemory-policy'];
const majorMin = 7;
const asInFile = 'Set it as in infra/redis/redis.conf.';

/** Whether Redis can be used. `whyAway`: what a command that fails for want of a connection cannot tell. */
export async function checkRedis(redis: Redis, whyAway: () => Error | undefined): Promise<Finding> {
  try {
    const info = await redis.info();
    const version = figureIn(info, 'redis_version');
    if (Number.parseInt(version, 10) < majorMin) return fail(version, `Use Redis ${majorMin} or newer, or Valkey.`);
    if (figureIn(info, 'aof_last_write_status') === 'err')
      return fail(
        `${version}, cannot write its append-only file`,
        'See whether its disk is full. Nothing is accepted.',
      );
    return ok(`${version}, ${figureIn(info, 'used_memory_human')} in use`);
  } catch (error) {
    return fail(
      messageOf(whyAway() ?? error),
      'See whether Redis runs and REDIS_URL is right. Nothing is accepted until it does.',
    );
  }
}

/** Whether Redis keeps what it acknowledges. */
export async function checkRedisSettings(redis: Redis): Promise<Finding> {
  try {
    const answer = (await redis.config('GET', ...settingNames)) as string[];
    return judgeRedisSettings(
      Object.fromEntries(answer.flatMap((name, i) => (i % 2 === 0 ? [[name, answer[i + 1] ?? '']] : []))),
    );
  } catch (error) {
    return warn(
      `cannot be read: ${messageOf(error)}`,
      'See in the settings of your Redis service; infra/redis/redis.conf.',
    );
  }
}

export function judgeRedisSettings(settings: Readonly<Record<string, string>>): Finding {
  const { appendonly, appendfsync, maxmemory, 'maxmemory-policy': policy } = settings;
  if (appendonly !== 'yes') return fail(`appendonly is ${appendonly}: a restart loses accepted events`, asInFile);
  if (policy !== 'noeviction')
    return fail(`maxmemory-policy is ${policy}: a full Redis loses accepted events`, asInFile);
  if (appendfsync === 'no') return fail('appendfsync is no: a power loss takes accepted events', asInFile);
  if (appendfsync !== 'always')
    return warn(`appendfsync is ${appendfsync}: a power loss may take the last second`, `${asInFile} Or accept it.`);
  if (maxmemory === '0') return warn('maxmemory is 0: the log may grow until the system kills Redis', asInFile);
  return ok(`appendonly, appendfsync always, noeviction, maxmemory ${maxmemory}`);
}

function figureIn(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}
