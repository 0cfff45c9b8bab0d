import type { PendingEvent } from './collected-event.ts';

/**
 * What a valid cache token says of a session: its visit and the time of that one's last event, Unix ms. A performance
 * measurement is none, unless it is the first.
 */
export type VisitHint = { visitId: string; lastAtMs: number };

/** An event and what the event log needs to place it in a visit (docs/semantics.md "Sessions and visits"). */
export type Placement = {
  event: PendingEvent;
  /** From a valid cache token of the same session: gives back a visit that the log no longer remembers. */
  hint?: VisitHint;
  /**
   * From a valid cache token of a session without id, when this event brings an id: the id's session goes on in that
   * visit.
   */
  link?: VisitHint & { sessionId: string };
};

/** The events of one request: they are stored together or not at all. */
export type Append = {
  placements: readonly Placement[];
  /**
   * Of two appends with one key within 24 hours only the first is stored, and the second is told the first one's draft.
   * `key`: names route, website and the client's key. `bodyHash`: hash of the request's body. `draft`: what the answer
   * is made of; without it nothing is kept under the key.
   */
  idempotency?: { key: string; bodyHash: string; draft?: string };
};

/** `visitIds`: 16 bytes for each placement, in order. `lastAtMs`: the time of that visit's last event. */
export type AppendedVisits = { visitIds: Uint8Array; lastAtMs: Float64Array };

/**
 * `replayOf`: the draft of the first append with this key; nothing was stored this time, and the only visit is that of
 * the first one's last placement.
 */
export type AppendResult =
  | ({ ok: true; replayOf?: string } & AppendedVisits)
  | { ok: false; reason: 'idempotency-key-reused' };
