import { z } from 'zod';
import { matchesAny } from './filters.ts';
import { buildQuery } from './query.ts';
import type { QueryContext, RunQuery } from './run-query.ts';
import { WarehouseError } from './warehouse-error.ts';

const Row = z.object({ fits: z.number() });

/** Whether a filter with the regular expression can be answered: ClickHouse compiles it, as it does for the filter. */
export async function isValidExpression(run: RunQuery, expression: string, context: QueryContext): Promise<boolean> {
  try {
    await run(
      buildQuery((bind) => `SELECT ${matchesAny("''", [expression], bind)} AS fits`),
      context,
      Row,
    );
    return true;
  } catch (error) {
    if (error instanceof WarehouseError && error.kind === 'invalid-expression') return false;
    throw error;
  }
}
