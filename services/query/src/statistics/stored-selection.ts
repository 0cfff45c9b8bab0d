import type { SelectionQuery } from '@meridian/contract/statistics';
import { badRequest } from '../http/bad-request.ts';

/**
 * Segments and cohorts are not stored yet, so that every id is unknown.
 * @throws ApiError 400 that names the parameter
 */
export function refuseUnknownSelection({ segment, cohort }: Pick<SelectionQuery, 'segment' | 'cohort'>): void {
  if (segment !== undefined) throw badRequest('segment', 'is not the id of a segment of this website');
  if (cohort !== undefined) throw badRequest('cohort', 'is not the id of a cohort of this website');
}
