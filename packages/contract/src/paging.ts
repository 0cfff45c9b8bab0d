import { z } from 'zod';

const wholeNumberFrom1 = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number from 1')
  .transform(Number)
  .refine((n) => n >= 1, 'must be a whole number from 1');

/** Parameters of every list that is read in pages. */
export const pageQuery = {
  page: wholeNumberFrom1.default(1),
  /** Cut to 1,000; the answer tells the size that was used. */
  pageSize: wholeNumberFrom1.transform((n) => Math.min(n, 1_000)).default(20),
  /** Upper bound of what all pages together hold. */
  maxResults: wholeNumberFrom1.optional(),
};

/** One page of records. `count`: all that match, at most `maxResults`; `search`: the search applied, '' = none. */
export function pageAnswer<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    count: z.number(),
    page: z.number(),
    pageSize: z.number(),
    orderBy: z.string(),
    search: z.string(),
  });
}
