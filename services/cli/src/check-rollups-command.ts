import type { RollupCheck } from '@meridian/warehouse/rollups/check';
import { parseRollupArguments } from './arguments.ts';
import { type Print, toPrintableJson, toTable } from './print.ts';

/**
 * `meridian check-rollups`: compares rollups with the events that they are made of, and puts them right when that is
 * asked for. The exit code is 1 when something differs that was not put right, or when it should have been put right
 * and it could not be told whether it differs.
 */
export async function runCheckRollups(
  rollups: Pick<RollupCheck, 'compare' | 'repair'>,
  args: string[],
  now: Date,
  print: Print,
): Promise<number> {
  const { scope, repair, json } = parseRollupArguments(args);
  const { drifts, undecided } = await (repair ? rollups.repair(now, scope) : rollups.compare(now, scope));
  if (json) {
    print(toPrintableJson({ differences: drifts, repaired: repair, undecidedRows: undecided }));
  } else {
    const rows = drifts.map(({ websiteId, table, rows }) => [websiteId, table, String(rows)]);
    if (rows.length > 0) for (const line of toTable([['WEBSITE', 'ROLLUP', 'ROWS'], ...rows])) print(line);
    print(summaryOf(drifts.length > 0, repair));
    if (undecided > 0)
      print(
        `${undecided} rows changed faster than they could be compared: they may be right. Look again when less flows in.`,
      );
  }
  return repair ? Number(undecided > 0) : Number(drifts.length > 0);
}

function summaryOf(isWrong: boolean, repair: boolean): string {
  if (!isWrong) return 'Rollups agree with their events.';
  return repair
    ? 'These rows differed from their events and were put right.'
    : 'These rows differ from their events. While a website is reset that is so; --repair puts them right.';
}
