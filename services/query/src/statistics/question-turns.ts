import { ApiError } from '@meridian/runtime/http/api-error';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import type { QueryCounts } from '../query-counts.ts';

/** How many questions of one account, and of all, a process asks at once, and how long one waits for its turn. */
export type QuestionLimits = { perCaller: number; inAll: number; waitMaxMs: number };

/**
 * For two cores: a heavy question uses both, so more at once end no sooner, and together run into the time that one may
 * take.
 */
export const defaultQuestionLimits: QuestionLimits = { perCaller: 2, inAll: 4, waitMaxMs: 20_000 };

/** Of one account; who has so many waiting is told to come again. */
const waitingMax = 200;
const retryAfterSeconds = '5';

export type QuestionTurns = {
  /**
   * Does the work when it is the caller's turn. `signal`: ends the waiting.
   * @throws ApiError 503 after waiting too long, 429 when too many questions of the caller wait already
   */
  take<Value>(callerId: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value>;
};

/**
 * The questions of one caller: a Set, because one may leave from the middle. `turn`: counts up; who began or ended one
 * last has the highest.
 */
type Line = { running: number; waiting: Set<() => void>; turn: number };

/**
 * Lets the questions of one process take turns. When one ends, the caller with the fewest running is next, of equals
 * the one whose last turn is longest ago: so a caller who asks much delays another one by no more than what is running.
 */
export function createQuestionTurns(
  { perCaller, inAll, waitMaxMs }: QuestionLimits,
  counts: Pick<QueryCounts, 'questionsWaiting' | 'questionsRefused'>,
): QuestionTurns {
  /** Of callers with questions. */
  const lines = new Map<string, Line>();
  let running = 0;
  let turn = 0;

  function newLine(callerId: string): Line {
    const line = { running: 0, waiting: new Set<() => void>(), turn: ++turn };
    lines.set(callerId, line);
    return line;
  }

  function start(line: Line): void {
    running++;
    line.running++;
    line.turn = ++turn;
  }

  function end(callerId: string, line: Line): void {
    running--;
    line.running--;
    line.turn = ++turn;
    forgetIdle(callerId, line);
    if (counts.questionsWaiting > 0) letNextStart();
  }

  function forgetIdle(callerId: string, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) lines.delete(callerId);
  }

  function letNextStart(): void {
    let next: Line | undefined;
    for (const line of lines.values())
      if (line.waiting.size > 0 && line.running < perCaller && (!next || isBefore(line, next))) next = line;
    const [begin] = next?.waiting ?? [];
    if (!next || !begin) return;
    start(next);
    begin();
  }

  function untilTurn(callerId: string, line: Line, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        counts.questionsWaiting--;
        line.waiting.delete(begin);
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      };
      const begin = (): void => {
        leave();
        resolve();
      };
      const refuse = (error: Error): void => {
        leave();
        forgetIdle(callerId, line);
        reject(error);
      };
      const giveUp = (): void => refuse(new WarehouseError('aborted', 'The question was given up'));
      const timer = setTimeout(() => {
        counts.questionsRefused.waited++;
        refuse(new ApiError('service-unavailable', 'Too many questions are being answered at the moment.'));
      }, waitMaxMs);
      signal.addEventListener('abort', giveUp);
      line.waiting.add(begin);
      counts.questionsWaiting++;
      if (signal.aborted) giveUp();
    });
  }

  return {
    async take(callerId, signal, work) {
      const line = lines.get(callerId) ?? newLine(callerId);
      if (running < inAll && line.running < perCaller) start(line);
      else if (line.waiting.size < waitingMax) await untilTurn(callerId, line, signal);
      else {
        counts.questionsRefused.too_many++;
        throw new ApiError('rate-limited', 'Too many of your questions are waiting already.', {
          headers: { 'retry-after': retryAfterSeconds },
        });
      }
      try {
        return await work();
      } finally {
        end(callerId, line);
      }
    },
  };
}

const isBefore = (a: Line, b: Line): boolean => a.running < b.running || (a.running === b.running && a.turn < b.turn);
