import type { FailedJob, FailedJobs } from '@meridian/queue/failed-jobs';
import { parseListArguments, parseTarget } from './arguments.ts';
import { messageOf } from './checks/finding.ts';
import { type Print, printable, shorten, toPrintableJson, toTable } from './print.ts';
import { UsageError } from './usage.ts';

const reasonMax = 120;
/** As long as an id is. */
const websiteMax = 36;

/** `meridian failed-jobs …`; gives the exit code. */
export async function runFailedJobs(jobs: FailedJobs, args: string[], print: Print): Promise<number> {
  const [action, ...rest] = args;
  if (action === 'list') return list(jobs, rest, print);
  if (action === 'retry') return actOn(jobs, rest, print, 'ordered again', jobs.retry);
  if (action === 'drop') return actOn(jobs, rest, print, 'dropped', jobs.drop);
  throw new UsageError('failed-jobs takes list, retry or drop');
}

async function list(jobs: FailedJobs, args: string[], print: Print): Promise<number> {
  const { limit, json } = parseListArguments(args);
  const [found, count] = await Promise.all([jobs.list(limit), jobs.count()]);
  if (json) {
    print(toPrintableJson(found));
    return 0;
  }
  const rows = found.map((job) => [
    job.id,
    job.failedAt,
    job.name,
    websiteOf(job),
    String(job.attempts),
    shorten(job.reason, reasonMax),
  ]);
  for (const line of toTable([['ID', 'FAILED', 'JOB', 'WEBSITE', 'ATTEMPTS', 'REASON'], ...rows])) print(line);
  print(count > found.length ? `${found.length} of ${count} failed jobs` : `${count} failed jobs`);
  return 0;
}

function websiteOf({ data }: FailedJob): string {
  const hasWebsite = typeof data === 'object' && data !== null && 'websiteId' in data;
  return hasWebsite ? shorten(String(data.websiteId), websiteMax) : '-';
}

async function actOn(
  jobs: FailedJobs,
  args: string[],
  print: Print,
  done: string,
  act: (id: string) => Promise<boolean>,
): Promise<number> {
  const target = parseTarget(args);
  if (target !== 'all') {
    const isDone = await act(target.id);
    print(isDone ? `${target.id} ${done}` : `There is no failed job ${target.id}`);
    return isDone ? 0 : 1;
  }
  const count = { done: 0, not: 0 };
  for (const id of await jobs.ids()) {
    try {
      if (await act(id)) count.done += 1; // else somebody else has dealt with it
    } catch (error) {
      count.not += 1;
      print(`${printable(id)} not ${done}: ${printable(messageOf(error))}`);
    }
  }
  print(`${count.done} ${done}${count.not > 0 ? `, ${count.not} not` : ''}`);
  return count.not === 0 ? 0 : 1;
}
