import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';
import { expressionMaxCharacters, filterNameOf, filterOperators, isShortEnough } from './statistics.ts';

/** Of a segment's or cohort's, as JSON. */
const parametersMaxCharacters = 20_000;

/** The operator and the value of a filter as the query string has them, apart: 'path=c./a' is path, c, '/a'. */
const StoredFilter = z
  .object({
    name: z
      .string()
      .refine((name) => filterNameOf(name) !== null, 'is not the name of a filter')
      .describe('Name of a filter parameter: path, browser, …'),
    operator: z.enum(filterOperators).default('eq'),
    value: z.string().max(2_000).default(''),
  })
  .refine(({ operator, value }) => isShortEnough(operator, value), {
    path: ['value'],
    message: `an expression may have at most ${expressionMaxCharacters} characters`,
  });
export type StoredFilter = z.infer<typeof StoredFilter>;

const selection = {
  filters: z.array(StoredFilter).max(50).default([]),
  match: z.enum(['all', 'any']).default('all').describe('How the filters combine.'),
};

/**
 * The range in which a cohort's visitors did something: 'all', two instants in Unix ms, or the last units up to now.
 */
export const cohortRangePattern = /^(?:all|range:(\d{1,15}):(\d{1,15})|(\d{1,4})(hour|day|week|month|year))$/;

export const SegmentParameters = z.object(selection);
export type SegmentParameters = z.infer<typeof SegmentParameters>;

export const CohortParameters = z.object({
  ...selection,
  dateRange: z
    .string()
    .regex(cohortRangePattern, 'must be all, range:<ms>:<ms>, or a number of hours to years')
    .describe('`range:<ms>:<ms>`, `30day` (today and the 29 days before), `0month` (this month) or `all`.'),
  action: z.object({ type: z.enum(['path', 'event']), value: z.string().min(1).max(2_000) }),
});
export type CohortParameters = z.infer<typeof CohortParameters>;

/** As they are taken from now on: there may be longer ones, and ranges that start after their end, from before. */
const isShort = (parameters: object): boolean => JSON.stringify(parameters).length <= parametersMaxCharacters;
const tooLong = `must have at most ${parametersMaxCharacters} characters`;
const NewSegmentParameters = SegmentParameters.refine(isShort, tooLong);
const NewCohortParameters = CohortParameters.refine(isShort, tooLong).refine(
  ({ dateRange }) => !isReversed(dateRange),
  { path: ['dateRange'], message: 'starts after its end' },
);

/** Whether a cohort's range is one of two instants and starts after its end. */
export function isReversed(dateRange: string): boolean {
  const [, from, to] = cohortRangePattern.exec(dateRange) ?? [];
  return Number(from) > Number(to);
}

const Name = z.string().min(1).max(200);

/** Creating and changing take the same: a change replaces the whole record. */
export const SegmentBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('segment'), name: Name, parameters: NewSegmentParameters }),
  z.object({ type: z.literal('cohort'), name: Name, parameters: NewCohortParameters }),
]);

const SegmentType = z.enum(['segment', 'cohort']);

export const SegmentListQuery = z.object({
  ...pageQuery,
  type: SegmentType.describe('Which of the two is listed.'),
  search: z.string().default('').describe('Part of the name, in any letter case.'),
});

export const SegmentRecord = z.object({
  id: z.guid(),
  websiteId: z.guid(),
  type: SegmentType,
  name: z.string(),
  parameters: z.record(z.string(), z.unknown()).describe('As they were given, with the defaults filled in.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type SegmentRecord = z.infer<typeof SegmentRecord>;

export const SegmentList = pageAnswer(SegmentRecord);
export type SegmentList = z.infer<typeof SegmentList>;
