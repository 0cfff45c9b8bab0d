import { eventsPerBatch, payload, post, userAgentOf } from './traffic.ts';
import { addressOf, type NextVisitor, toRequest } from './visitors.ts';

const templateCount = 50;

/** Servers that each send one batch, in which every event belongs to a session that was never seen before. */
export function createStrangers(websites: readonly string[]): NextVisitor {
  const templates = Array.from({ length: templateCount }, (_, template) =>
    Array.from({ length: eventsPerBatch }, (_, i) =>
      JSON.stringify(payload(websites[template % websites.length] ?? '', template * eventsPerBatch + i, 0)).slice(1),
    ),
  );
  let batches = 0;
  let strangers = 0;
  const who = () => {
    const n = strangers++;
    return n % 2 === 0 ? `"id":"customer-${n}"` : `"ip":"${addressOf(n)}","userAgent":"${userAgentOf(n >> 1)}"`;
  };
  return () => {
    const events = templates[batches++ % templateCount] ?? [];
    const body = `[${events.map((rest) => `{"type":"event","payload":{${who()},${rest}}`).join()}]`;
    let request: string | null = toRequest(post('/api/batch', 'shop-server/1', body), addressOf(batches), '');
    return {
      keepsToken: false,
      nextRequest() {
        const sending = request;
        request = null;
        return sending;
      },
    };
  };
}
