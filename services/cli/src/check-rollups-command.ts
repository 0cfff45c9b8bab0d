import { StartError } from '@meridian/runtime/process';
import type { RollupCheck } from '@meridian/warehouse/rollups/check';
import type { RollupArguments } from './arguments.ts';
import { lateMs, tellLag } from './checks/event-log.ts';
import { type Print, toPrintableJson, toTable } from './print.ts';

const whyLate = 'what a worker is to send again may be half stored: repaired now, it would be counted twice.';

/**
 * `meridian check-rollups`: compares rollups with the events that they are made of, and puts them right when that is
 * asked for. The exit code is 1 when something differs that was not put right, or when it should have been put right
 * and it could not be told whether it differs. `readLogLagMs`: how long the oldest event waits.
 */
export async function runCheckRollups(
  deps: Pick<RollupCheck, 'compare' | 'repair'> & {
    readLogLagMs: () => Promise<number>;
    /** Rejects when the signal ends it. */
    untilHandedOutIsStored: (signal: AbortSignal) => Promise<void>;
  },
  { scope, repair, json }: RollupArguments,
  now: Date,
  print: Print,
): Promise<number> {
  if (repair) await untilWhole(deps.untilHandedOutIsStored);
  const logLagMs = await deps.readLogLagMs();
  const { drifts, undecided } = await (repair ? deps.repair(now, scope) : deps.compare(now, scope));
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

/**
 * A block that is stored without its views, as that of a worker which was killed, would be in rollups twice: from its
 * events by the repair, and by its views when a worker sends it again.
 */
async function untilWhole(untilHandedOutIsStored: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const deadline = AbortSignal.timeout(lateMs);
  await untilHandedOutIsStored(deadline).catch((error) => {
    if (!deadline.aborted) throw error;
    throw new StartError(
      `Nothing is repaired now: workers were given events more than ${lateMs / 1_000} s ago that are not stored, and ${whyLate} See to it that they store (npx meridian doctor), and repeat this then.`,
    );
  });
}

function summaryOf(isWrong: boolean, repair: boolean, logLagMs: number): string {
  if (!isWrong) return 'Rollups agree with their events.';
  if (repair) return 'These rows differed from their events and were put right.';
  return logLagMs > lateMs
    ? `These rows differ from their events. But ${tellLag(logLagMs)}, and ${whyLate} Look again when the workers store.`
    : 'These rows differ from their events. While a website is reset that is so; --repair puts them right.';
}
