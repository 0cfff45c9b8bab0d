import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** What the triggers of `0003_access_changes.sql` write to. */
const channel = 'access_change';
const beatEveryMs = 600;
/**
 * A change is heard of everywhere within this time, or nothing that is remembered counts: a bit less than the two
 * seconds promised of a deleted key.
 */
const heardWithinMs = 1_700;
/** A connection on which no beat came for so long is replaced. */
const silenceMaxMs = 10_000;
const answerMaxMs = 5_000;

export type AccessChanges = {
  /** Whether every change that is older than two seconds has been heard. */
  isCurrent(): boolean;
  close(): Promise<void>;
};

/**
 * Hears of every change to accounts, sessions, websites and teams, whoever makes it, on a connection of its own that is
 * replaced when it is lost. That it hears is proved by beats: each goes into Postgres by another connection and has to
 * come back on this one, behind all changes before it. So a network that hangs, a pooler that keeps notifications to
 * itself and a database without the triggers are noticed. `sendBeat`: runs `access_beat`. `onChange`: such as 'user
 * <id>'. `onGap`: from now on; what was before may have changed unheard.
 */
export function followAccessChanges(
  databaseUrl: string,
  { sendBeat, onChange, onGap }: AccessChangeHandlers & { sendBeat(beat: string): Promise<unknown> },
): AccessChanges {
  const self = randomUUID();
  let client: pg.Client | null = null;
  let listeningSinceMs: number | null = null;
  /** When the last beat that came back was sent. */
  let heardUpToMs = Number.NEGATIVE_INFINITY;
  let isBeatUnderWay = false;

  async function listen(): Promise<void> {
    const opened = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'meridian access changes',
      keepAlive: true,
      connectionTimeoutMillis: answerMaxMs,
      query_timeout: answerMaxMs,
    });
    client = opened;
    opened.on('error', () => lose(opened));
    opened.on('end', () => lose(opened));
    try {
      await opened.connect();
      await opened.query(`LISTEN ${channel}`);
    } catch {
      lose(opened);
    }
    if (opened !== client) return;
    opened.on('notification', ({ payload }) => opened === client && hear(payload ?? ''));
    listeningSinceMs = performance.now();
    onGap();
    beat();
  }

  function lose(lost: pg.Client): void {
    if (lost !== client) return;
    release();
    onGap();
    lost.end().catch(() => {}); // it is gone anyway
  }

  function release(): void {
    client = null;
    listeningSinceMs = null;
    heardUpToMs = Number.NEGATIVE_INFINITY;
  }

  function beat(): void {
    if (isBeatUnderWay) return;
    isBeatUnderWay = true;
    sendBeat(`${self} ${performance.now()}`)
      .catch(() => {}) // then it does not come back either
      .finally(() => {
        isBeatUnderWay = false;
      });
  }

  function hear(payload: string): void {
    const [kind, sender, sentAtMs] = payload.split(' ');
    if (kind !== 'beat') onChange(payload);
    else if (sender === self) heardUpToMs = Number(sentAtMs);
  }

  function tick(): void {
    if (client === null) void listen();
    if (client === null || listeningSinceMs === null) return; // connecting
    if (performance.now() - Math.max(heardUpToMs, listeningSinceMs) > silenceMaxMs) lose(client);
    else beat();
  }

  void listen();
  const timer = setInterval(tick, beatEveryMs).unref();
  return {
    isCurrent: () => performance.now() - heardUpToMs < heardWithinMs,
    async close() {
      clearInterval(timer);
      const open = client;
      release();
      await open?.end().catch(() => {});
    },
  };
}

export type AccessChangeHandlers = { onChange(subject: string): void; onGap(): void };
