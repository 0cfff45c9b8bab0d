import type { AccessChangeHandlers, AccessChanges } from './access-changes.ts';

/** Of each kind of answer. */
const answersMax = 10_000;
const changesMax = 10_000;
/** No answer is believed for longer, should a change ever go unheard. */
const ageMaxMs = 60_000;

type SubjectKind = 'user' | 'session' | 'website' | 'team';
/** What an answer depends on, as the triggers name it. */
export type AccessSubject = `${SubjectKind} ${string}`;

type Remembered<Answer> = { answer: Answer; subjects: readonly AccessSubject[]; asOf: number; askedAtMs: number };

/**
 * Remembers who may do what, until it changes. Changes are numbered as they are heard of; an answer carries the number
 * that was the last when it was asked for, and counts only while none of its subjects has a later one. So an answer
 * that was on its way during a change never counts, and neither does any while the process cannot be sure to hear of
 * changes: then Postgres is asked each time. `follow` is called with the first question.
 */
export function createAccessCache(follow: (handlers: AccessChangeHandlers) => AccessChanges) {
  let changes: AccessChanges | undefined;
  let lastChange = 0;
  /** Answers that were asked for before this change do not count. */
  let oldest = 0;
  const changed = new Map<string, number>();

  function onGap(): void {
    oldest = ++lastChange;
    changed.clear();
  }

  function onChange(subject: string): void {
    if (changed.size >= changesMax) onGap();
    changed.set(subject, ++lastChange);
  }

  function counts({ asOf, askedAtMs, subjects }: Remembered<unknown>): boolean {
    if (asOf < oldest || performance.now() - askedAtMs > ageMaxMs || !changes?.isCurrent()) return false;
    return subjects.every((subject) => (changed.get(subject) ?? 0) <= asOf);
  }

  return {
    /**
     * `ask` with a memory. `keyOf`: of the question, never the same for two that have different answers. `subjectsOf`:
     * all that the answer depends on; null for an answer that is not to be remembered. Answers are shared, so nobody
     * may change them.
     */
    remember<Question extends unknown[], Answer>(
      ask: (...question: Question) => Promise<Answer>,
      keyOf: (...question: Question) => string,
      subjectsOf: (answer: Answer, ...question: Question) => readonly AccessSubject[] | null,
    ) {
      const known = new Map<string, Remembered<Answer>>();
      return async (...question: Question): Promise<Answer> => {
        changes ??= follow({ onChange, onGap });
        const key = keyOf(...question);
        const remembered = known.get(key);
        if (remembered && counts(remembered)) return remembered.answer;
        const [asOf, askedAtMs] = [lastChange, performance.now()];
        const answer = await ask(...question);
        const subjects = subjectsOf(answer, ...question);
        if (subjects === null) return answer;
        known.delete(key); // so that it stands last, as the newest
        for (const first of known.keys()) {
          if (known.size < answersMax) break;
          known.delete(first);
        }
        known.set(key, { answer, subjects, asOf, askedAtMs });
        return answer;
      };
    },
    /**
     * A change, by this process, of what its first argument names. It counts with the next question, whenever the news
     * of it comes back.
     */
    changing<Rest extends unknown[], Result>(
      kind: SubjectKind,
      change: (id: string, ...rest: Rest) => Promise<Result>,
    ) {
      return async (id: string, ...rest: Rest): Promise<Result> => {
        try {
          return await change(id, ...rest);
        } finally {
          onChange(subject(kind, id));
        }
      };
    },
    /** No answer that was asked for before counts any more. */
    forgetAll: onGap,
    close: async (): Promise<void> => changes?.close(),
  };
}

/** As the triggers write it: ids in lower case. */
export function subject(kind: SubjectKind, id: string): AccessSubject {
  return `${kind} ${id.toLowerCase()}`;
}
