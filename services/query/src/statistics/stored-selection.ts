import {
  CohortParameters,
  isReversed,
  SegmentParameters,
  type SegmentParameters as StoredSelection,
} from '@meridian/contract/segments';
import { filterNameOf, type SelectionQuery } from '@meridian/contract/statistics';
import type { Question, Selection } from '@meridian/warehouse/question';
import { badRequest } from '../http/bad-request.ts';
import type { QueryDeps } from '../query-env.ts';
import { cohortRange } from './cohort-range.ts';
import { valuesOf } from './parse-filters.ts';
import type { TimeZone } from './time-zone.ts';

/**
 * The segment and the cohort that a query names, as they are stored now. A cohort's calendar is that of `zone`.
 * @throws ApiError 400 that names the parameter when the website has no such record
 */
export async function readStoredSelection(
  deps: Pick<QueryDeps, 'registry' | 'now'>,
  websiteId: string,
  { segment, cohort }: Pick<SelectionQuery, 'segment' | 'cohort'>,
  zone: TimeZone,
): Promise<Pick<Question, 'segment' | 'cohort'>> {
  const [segmentParameters, cohortParameters] = await Promise.all([
    segment && readParameters(deps, websiteId, 'segment', segment),
    cohort && readParameters(deps, websiteId, 'cohort', cohort),
  ]);
  return {
    segment: segmentParameters ? toSelection(SegmentParameters.parse(segmentParameters)) : undefined,
    cohort: cohortParameters ? toCohort(CohortParameters.parse(cohortParameters), zone, deps.now()) : undefined,
  };
}

async function readParameters(
  { registry }: Pick<QueryDeps, 'registry'>,
  websiteId: string,
  type: 'segment' | 'cohort',
  id: string,
) {
  const found = await registry.findSegment(websiteId, id);
  if (found?.type !== type) throw badRequest(type, `is not the id of a ${type} of this website`);
  return found.parameters;
}

function toCohort(parameters: CohortParameters, zone: TimeZone, now: Date): Question['cohort'] {
  const { dateRange, action } = parameters;
  if (isReversed(dateRange)) throw badRequest('cohort', 'has a range that starts after its end');
  return { ...toSelection(parameters), range: cohortRange(dateRange, zone, now), action };
}

/** Stored filters mean what the same filters mean in a query string; each is a condition of its own. */
function toSelection({ filters, match }: StoredSelection): Selection {
  const conditions = filters.flatMap(({ name, operator, value }) => {
    const known = filterNameOf(name);
    return known === null ? [] : valuesOf(known, operator, value).map((parsed) => ({ name: known, ...parsed }));
  });
  return { filters: conditions, match };
}
