import { z } from 'zod';

const wholeNumberFrom1 = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number from 1')
  .transform(Number)
  .refine((n) => n >= 1, 'must be a whole number from 1')
  .meta({ type: 'integer', minimum: 1, pattern: undefined });

/** Parameters of every list that is read in pages. */
export const pageQuery = {
  page: wholeNumberFrom1.default(1).describe('Page, from 1.'),
  pageSize: wholeNumberFrom1
    .transform((n) => Math.min(n, 1_000))
    .default(20)
    .describe('Records per page. Cut to 1,000; the answer tells the size that was used.'),
  maxResults: wholeNumberFrom1.optional().describe('Upper bound of what all pages together hold.'),
};

/** One page of records. */
export function pageAnswer<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    count: z.number().describe('All that match, at most `maxResults`.'),
    page: z.number(),
    pageSize: z.number(),
    orderBy: z.string().describe('The order applied.'),
    search: z.string().describe('The search applied; empty for none.'),
  });
}
