import type { ClickHouseClient } from '@clickhouse/client';
import { untilInsertsEnd } from '../until-inserts-end.ts';
import type { RollupAccess } from './access.ts';
import type { RollupPart, RollupTable } from './parts.ts';

/** Rows read at once. */
const differencesMax = 20_000;
const looksMax = 20;
/**
 * How long one comparison waits for a moment in which nobody inserts, all its looks together; with ten workers one
 * comes within seconds.
 */
const quietWaitMaxMs = 5_000;
/**
 * Without a quiet moment, so many looks in a row that find no count too large prove that there is none; each is taken
 * after the inserts that ran at the look before have ended.
 */
const looksWithoutExcessMin = 5;

/**
 * A row that is wrong: its key, and its values as the events make them and as the rollup has them. Values of a visit
 * are a checksum of all that is told of it, 0 where there is no row; of counts they are the counts.
 */
export type Difference = { key: Record<string, string>; fresh: bigint[]; stored: bigint[] };

/**
 * Rows of a website's rollup that are not what its events make of them; of a million events no more than 20,000 are
 * counted.
 */
export type RollupDrift = { websiteId: string; table: RollupTable; rows: number };

/** `undecided`: rows of which it could not be told, because they changed with every look. */
export type RollupComparison = { drifts: RollupDrift[]; undecided: number };

type ComparedColumns = { key: readonly string[]; values: readonly string[]; isCount: boolean };

const visit: ComparedColumns = {
  key: ['website_id', 'start_hour', 'visit_id'],
  values: ['cityHash64(*)'],
  isCount: false,
};

export const comparedColumns: Record<RollupTable, ComparedColumns> = {
  site_visits: visit,
  stray_visits: visit,
  /** Of counts only the sums matter: they can be put right by adding what is missing. */
  site_15m: { key: ['website_id', 'bucket'], values: ['pageviews', 'custom_events'], isCount: true },
  site_texts: { key: ['website_id', 'month', 'kind', 'text'], values: ['events'], isCount: true },
};

/**
 * Rows of the part that are wrong for sure, at most 20,000 of them, while events flow in. `undecided`: of how many
 * others it cannot be told, since they changed with every look; only looked for when none is wrong for sure.
 *
 * What a query finds is sure at a quiet moment. Where there is none it is sure when the row is the same in two looks,
 * and every insert that ran at the first has ended before the second: an insert stores the events first, so one that is
 * half done would have changed the row. So a row that does not differ in one of the looks lacks nothing: what is half
 * written can only make it seem to lack something.
 *
 * `isRemade`: some of the part's rows were made anew or put right before. A count may be too large then by what is half
 * written at the moment of the look, which hides it: that none is too large counts only at a quiet moment, or when it
 * is seen again and again.
 */
export async function findDifferences(
  client: ClickHouseClient,
  access: RollupAccess,
  part: RollupPart,
  isRemade = false,
): Promise<{ sure: Difference[]; undecided: number }> {
  const { isCount } = comparedColumns[part.table];
  let before: Difference[] = [];
  let alwaysDiffering: ReadonlySet<string> | undefined;
  let looksWithoutExcess = 0;
  let patienceMs = quietWaitMaxMs;
  for (let looks = 1; looks <= looksMax; looks++) {
    const { differences, isQuiet, waitedMs } = await look(access, part, looks === 1 ? 0 : patienceMs);
    patienceMs -= waitedMs;
    const sure = isQuiet ? differences : agreeing(part.table, before, differences);
    if (sure.length > 0 || isQuiet) return { sure, undecided: 0 };
    // A look that reached the limit says nothing of the rows beyond it.
    if (differences.length < differencesMax) {
      const earlier: ReadonlySet<string> | undefined = alwaysDiffering;
      alwaysDiffering = new Set(differences.map(nameOf).filter((name) => earlier?.has(name) ?? true));
      looksWithoutExcess = isCount && differences.some(isTooLarge) ? 0 : looksWithoutExcess + 1;
      const looksNeeded = isRemade && isCount ? looksWithoutExcessMin : 1;
      if (alwaysDiffering.size === 0 && looksWithoutExcess >= looksNeeded) return { sure: [], undecided: 0 };
    }
    before = differences;
    await untilInsertsEnd(client);
  }
  return { sure: [], undecided: Math.max(alwaysDiffering?.size ?? 0, 1) };
}

/** The rollup is read before the events: what is stored between the two it seems to lack. */
async function look(access: RollupAccess, part: RollupPart, waitMaxMs: number) {
  const { key, values } = comparedColumns[part.table];
  const columns = values.map((_, i) => `v${i}`);
  const side = (from: string, isFresh: 0 | 1) =>
    `SELECT ${key.join(', ')}, ${values.map((value, i) => `${value} AS v${i}`).join(', ')}, ${isFresh} AS is_fresh FROM ${from}`;
  const sums = (isFresh: 0 | 1) => columns.map((column) => `sumIf(${column}, is_fresh = ${isFresh})`).join(', ');
  const { rows, isQuiet, waitedMs } = await access.read<Record<string, string> & { fresh: string[]; stored: string[] }>(
    `SELECT ${key.join(', ')}, [${sums(1)}] AS fresh, [${sums(0)}] AS stored
    FROM (${side(part.table, 0)} FINAL WHERE ${part.rows} UNION ALL ${side(`(${await access.freshRows(part)})`, 1)})
    GROUP BY ${key.join(', ')}
    HAVING fresh != stored ${part.onlyMissing ? 'AND stored[1] = 0' : ''}
    ORDER BY ${key.join(', ')}
    LIMIT ${differencesMax}`,
    part.events,
    waitMaxMs,
  );
  const differences = rows.map(
    ({ fresh, stored, ...keys }): Difference => ({ key: keys, fresh: fresh.map(BigInt), stored: stored.map(BigInt) }),
  );
  return { differences, isQuiet, waitedMs };
}

/** What two looks say together that were no quiet moments. */
function agreeing(table: RollupTable, before: readonly Difference[], after: readonly Difference[]): Difference[] {
  const isCount = comparedColumns[table].isCount;
  const seen = new Map(before.map((difference) => [nameOf(difference), difference]));
  return after.flatMap((difference) => {
    const earlier = seen.get(nameOf(difference));
    if (!earlier) return [];
    if (isSame(earlier, difference)) return [difference];
    const bound = isCount ? boundOf(earlier, difference) : null;
    return bound && !isSame(bound, { ...bound, fresh: bound.stored }) ? [bound] : [];
  });
}

/**
 * Of a count that grows all the time: how much it is off at least. What the events had at the first look the rollup has
 * at the second, and what the rollup had at the first the events have at the second.
 */
function boundOf(earlier: Difference, later: Difference): Difference | null {
  const off = later.fresh.map((fresh, i) => {
    const [was, stored, had] = [earlier.fresh[i] ?? 0n, later.stored[i] ?? 0n, earlier.stored[i] ?? 0n];
    if (fresh < was || stored < had) return 0n; // something was removed meanwhile
    if (stored < was) return was - stored;
    return had > fresh ? fresh - had : 0n;
  });
  return { ...later, fresh: off, stored: off.map(() => 0n) };
}

const isTooLarge = ({ fresh, stored }: Difference): boolean => stored.some((count, i) => count > (fresh[i] ?? 0n));

export const nameOf = ({ key }: Difference): string => JSON.stringify(Object.values(key));

const isSame = (a: Difference, b: Difference): boolean =>
  String(a.fresh) === String(b.fresh) && String(a.stored) === String(b.stored);

/** Counts what is found part by part. */
export function createDriftCount() {
  const rows = new Map<string, RollupDrift>();
  let undecidedRows = 0;
  return {
    add(table: RollupTable, wrong: readonly Difference[], undecided: number): void {
      undecidedRows += undecided;
      for (const { website_id: websiteId = '' } of wrong.map(({ key }) => key)) {
        const drift = rows.get(`${websiteId} ${table}`) ?? { websiteId, table, rows: 0 };
        rows.set(`${websiteId} ${table}`, { ...drift, rows: drift.rows + 1 });
      }
    },
    all: (): RollupComparison => ({ drifts: [...rows.values()], undecided: undecidedRows }),
  };
}
