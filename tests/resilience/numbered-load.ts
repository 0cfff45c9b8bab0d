import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { chrome } from '../api-client.ts';
import { post } from '../collector.ts';

/** What became of numbered events as their sender sees it; a number is in one of the sets. */
export type NumberedLoad = {
  /** Answered with 200. */
  accepted: Set<number>;
  /** Answered with anything else. */
  refused: Set<number>;
  /** Not answered: the connection broke. May be stored. */
  unknown: Set<number>;
  /** How often each status was answered; a broken connection counts as 0. */
  statuses: Map<number, number>;
  /** The longest that an answer took, in ms. */
  slowestMs: number;
  /** 503 without a Retry-After of 1 to 30 seconds. */
  unsound: string[];
  /** All numbers below have been sent. */
  sentBelow(): number;
  /** Ends every sender when its request is answered. */
  stop(): Promise<void>;
};

export type LoadOptions = {
  /** Ports of collectors; senders take them in turn. */
  ports: readonly number[];
  websiteId: string;
  /**
   * One sender each: how many events a request of his has. A single event goes to /send, more to /batch. */
  senders?: readonly number[];
  /**
   * Between two requests of a sender. The default makes some 300 events a second in all, so that the faults and not the
   * machine are tested.
   */
  pauseMs?: number;
  /** Senders repeat a request under its Idempotency-Key until it is accepted, as careful ones do. */
  repeat?: boolean;
  /** The number of the first event. */
  from?: number;
};

/** Event number `n`: it is in `data.n` and in the URL, and comes from one of 50 visitors. */
const eventOf = (websiteId: string, n: number) => ({
  type: 'event',
  payload: { website: websiteId, url: `/n/${n}`, id: `visitor-${n % 50}`, data: { n } },
});

/** Sends numbered events at a steady rate until told to stop. */
export function startNumberedLoad(options: LoadOptions): NumberedLoad {
  const { ports, websiteId, senders = [1, 1, 5, 10], pauseMs = 55, repeat = false, from = 0 } = options;
  let isRunning = true;
  let next = from;
  let turn = 0;
  const load: NumberedLoad = {
    accepted: new Set(),
    refused: new Set(),
    unknown: new Set(),
    statuses: new Map(),
    slowestMs: 0,
    unsound: [],
    sentBelow: () => next,
    async stop() {
      isRunning = false;
      await Promise.all(running);
    },
  };

  /** The answer's status, 0 when there is none. */
  async function ask(path: string, headers: Record<string, string>, body: unknown): Promise<number> {
    const port = ports[turn++ % ports.length];
    const startedAt = performance.now();
    const answer = await post(`http://127.0.0.1:${port}/api/${path}`, headers, body).catch(() => null);
    load.slowestMs = Math.max(load.slowestMs, performance.now() - startedAt);
    const status = answer?.status ?? 0;
    load.statuses.set(status, (load.statuses.get(status) ?? 0) + 1);
    const retryAfter = Number(answer?.headers.get('retry-after'));
    if (status === 503 && !(retryAfter >= 1 && retryAfter <= 30)) load.unsound.push(answer?.text ?? '');
    return status;
  }

  async function sendOnce(batchSize: number): Promise<void> {
    const numbers = Array.from({ length: batchSize }, () => next++);
    const events = numbers.map((n) => eventOf(websiteId, n));
    const headers = {
      'content-type': 'application/json',
      'user-agent': chrome,
      ...(repeat && { 'idempotency-key': randomUUID() }),
    };
    const attempt = () => (batchSize === 1 ? ask('send', headers, events[0]) : ask('batch', headers, events));
    let status = await attempt();
    while (repeat && status !== 200) {
      await delay(100);
      status = await attempt();
    }
    const set = status === 200 ? load.accepted : status === 0 ? load.unknown : load.refused;
    for (const n of numbers) set.add(n);
  }

  async function sender(batchSize: number): Promise<void> {
    while (isRunning) {
      await sendOnce(batchSize);
      await delay(pauseMs);
    }
  }
  const running = senders.map(sender);
  return load;
}
