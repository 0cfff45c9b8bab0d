import { StartError } from '@meridian/runtime/process';
import type { RollupCheck } from '@meridian/warehouse/rollups/check';
import type { RollupArguments } from './arguments.ts';
import { lateMs, tellLag } from './checks/event-log.ts';
import { type Print, toPrintableJson, toTable } from './print.ts';

const whyLate = 'what a worker is to send again may be half stored: repaired now, it would be counted twice.';

/**
 * `meridian check-rollups`: compares rollups with the events that they are made of, and puts them right when that is
 * asked for. The exit code is 1 when something differs that was not put right, or when it should have been put right
 * and it could not be told whether it differs.
 * `logLagMs`: how long the oldest event waits. While that is long nothing is put right: a block that is stored without
 * its views would be in rollups twice, from its events now and from its views when a worker sends it again.
 */
export async function runCheckRollups(
  { compare, repair: putRight, logLagMs }: Pick<RollupCheck, 'compare' | 'repair'> & { logLagMs: number },
  { scope, repair, json }: RollupArguments,
  now: Date,
  print: Print,
): Promise<number> {
  if (repair && logLagMs > lateMs)
    throw new StartError(
      `Nothing is repaired now: ${tellLag(logLagMs)}, and ${whyLate} See to it that the workers store (npx meridian doctor), and repeat this then.`,
    );
  const { drifts, undecided } = await (repair ? putRight(now, scope) : compare(now, scope));
  if (json) {
    print(toPrintableJson({ differences: drifts, repaired: repair, undecidedRows: undecided, logLagMs }));
  } else {
    const rows = drifts.map(({ websiteId, table, rows }) => [websiteId, table, String(rows)]);
    if (rows.length > 0) for (const line of toTable([['WEBSITE', 'ROLLUP', 'ROWS'], ...rows])) print(line);
    print(summaryOf(drifts.length > 0, repair, logLagMs));
    if (undecided > 0)
      print(
        `${undecided} rows changed faster than they could be compared: they may be right. Look again when less flows in.`,
      );
  }
  return repair ? Number(undecided > 0) : Number(drifts.length > 0);
}

function summaryOf(isWrong: boolean, repair: boolean, logLagMs: number): string {
  if (!isWrong) return 'Rollups agree with their events.';
  if (repair) return 'These rows differed from their events and were put right.';
  return logLagMs > lateMs
    ? `These rows differ from their events. But ${tellLag(logLagMs)}, and ${whyLate} Look again when the workers store.`
    : 'These rows differ from their events. While a website is reset that is so; --repair puts them right.';
}
