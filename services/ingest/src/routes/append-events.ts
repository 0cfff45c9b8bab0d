import type { EventLog } from '@meridian/queue/event-log';
import type { Append, AppendResult, VisitHint } from '@meridian/queue/placement';
import { readUuid } from '@meridian/queue/uuid-bytes';
import type { CollectCounts } from '../collect-counts.ts';
import { answerError, type Exchange } from '../http/answer.ts';

export type Appended = Extract<AppendResult, { ok: true }>;

export type AppendDeps = { eventLog: EventLog; counts: CollectCounts; reportOutage: (error: unknown) => void };

/** Of the last event; undefined where none was appended. */
export function lastVisitOf({ visitIds, lastAtMs }: Appended): VisitHint | undefined {
  const last = lastAtMs.at(-1);
  return last === undefined ? undefined : { visitId: readUuid(visitIds, visitIds.length - 16), lastAtMs: last };
}

/** Puts a request's events into the event log; null when they are not there and the client has been told. */
export async function appendEvents(deps: AppendDeps, exchange: Exchange, append: Append): Promise<Appended | null> {
  const result = await tryAppend(deps, append);
  return result?.ok ? result : refuse(exchange, result?.reason);
}

/**
 * Keeps the key of a request of which something is handed on before it is appended; null when it must not go on and the
 * client has been told.
 */
export async function reserveKey(
  deps: AppendDeps,
  exchange: Exchange,
  record: Parameters<EventLog['reserve']>[0],
): Promise<Appended | null> {
  try {
    const result = await deps.eventLog.reserve(record);
    return result.ok ? result : refuse(exchange, result.reason);
  } catch (error) {
    deps.reportOutage(error);
    return refuse(exchange);
  }
}

function refuse(exchange: Exchange, reason?: 'idempotency-key-reused'): null {
  if (reason) answerError(exchange, reason, 'Idempotency-Key: was used with another body');
  else answerError(exchange, 'service-unavailable', 'Events cannot be taken at the moment.');
  return null;
}

/** What `appendEvents` does, for who has more to tell the client; null when the log takes nothing. */
export async function tryAppend(deps: AppendDeps, append: Append): Promise<AppendResult | null> {
  const { counts } = deps;
  const startedAt = performance.now();
  try {
    const result = await deps.eventLog.append(append);
    counts.appendSeconds.observe((performance.now() - startedAt) / 1_000);
    if (result.ok && result.replayOf === undefined) counts.accepted += append.placements.length;
    return result;
  } catch (error) {
    counts.appendsFailed++;
    deps.reportOutage(error);
    return null;
  }
}
