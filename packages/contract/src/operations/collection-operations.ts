import { z } from 'zod';
import { BatchAnswer, batchEventsMax, Event, IgnoredAnswer, SendAnswer } from '../collect.ts';
import type { OperationFamily } from './operation.ts';

const headers = z.object({
  'user-agent': z
    .string()
    .optional()
    .describe("The visitor's, unless `userAgent` in the payload tells it. Without one an event is ignored."),
  'x-umami-cache': z.string().optional().describe('`cache` of the answer before: keeps a visitor in its visit.'),
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/)
    .optional()
    .describe(
      'A request that is repeated with the same key within 24 hours gets the first answer and stores nothing again.',
    ),
});

const refusals = ['idempotency-key-reused'] as const;

export const collectionOperations: OperationFamily = {
  name: 'Collection',
  description:
    'Events come in here, without a credential. 200 means that they are on disk; a bot, an ignored address and a missing User-Agent are answered with 200 too and not stored.',
  operations: {
    'POST /send': {
      id: 'send',
      summary: 'Record an event',
      description:
        'A pageview, or with a `name` a custom event; `identify` and `performance` add to what is known of a visitor or page.',
      access: 'anybody',
      headers,
      body: Event,
      answer: z.union([SendAnswer, IgnoredAnswer]),
      refusals,
    },
    'POST /batch': {
      id: 'batch',
      summary: 'Record many events',
      description:
        'Each event stands for itself: the answer is 200 also where some are refused, and `details` tells which. `{ "events": […] }` and an object with the keys 0 to n-1 are taken too.',
      access: 'anybody',
      headers,
      body: z.array(Event).max(batchEventsMax),
      answer: BatchAnswer,
      refusals,
    },
  },
};
