import { z } from 'zod';

/** A parameter that is a whole number, such or greater. */
export const wholeNumberFrom = (min: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min}`)
    .transform(Number)
    .refine((n) => n >= min, `must be a whole number from ${min}`)
    .meta({ type: 'integer', minimum: min, pattern: undefined });

/** Parameters of every list that is read in pages. */
export const pageQuery = {
  page: wholeNumberFrom(1).default(1).describe('Page, from 1.'),
  pageSize: wholeNumberFrom(1)
    .transform((n) => Math.min(n, 1_000))
    .default(20)
    .describe('Records per page. Cut to 1,000; the answer tells the size that was used.'),
  maxResults: wholeNumberFrom(1).optional().describe('Upper bound of what all pages together hold.'),
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
