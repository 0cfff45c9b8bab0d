/** What the product shall reach, in the unit of the row. */
export type Goal = { atLeast: number; aim: number; unit: string; lowerIsBetter?: boolean };

export type Row = { what: string; goal?: Goal; value: number; unit?: string; spread?: Spread; note?: string };
type Spread = { min: number; max: number };

/** The middle of the values and how far they go apart. */
export function summarise(values: readonly number[]): { value: number; spread: Spread } {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const value = ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
  return { value, spread: { min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN } };
}

/** Prints the rows as a table, with the verdict on those that have a goal. */
export function printTable(rows: readonly Row[]): void {
  const head = ['what', 'at least', 'aim', 'measured', 'min..max', 'verdict'];
  const lines = rows.map(({ what, goal, value, unit, spread }) => {
    const suffix = goal?.unit ?? unit ?? '';
    return [
      what,
      goal ? format(goal.atLeast) + suffix : '',
      goal ? format(goal.aim) + suffix : '',
      format(value) + suffix,
      spread ? `${format(spread.min)}..${format(spread.max)}` : '',
      goal ? verdict(goal, value) : '',
    ];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column]?.length ?? 0)));
  for (const [index, line] of [head, ...lines].entries()) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    console.log(cells.join('  ').trimEnd());
    const note = rows[index - 1]?.note;
    if (note) console.log(`    ${note}`);
  }
}

function verdict({ atLeast, aim, lowerIsBetter }: Goal, value: number): string {
  const reaches = (limit: number) => (lowerIsBetter ? value <= limit : value >= limit);
  if (reaches(aim)) return 'pass, aim reached';
  return reaches(atLeast) ? 'pass' : 'MISS';
}

function format(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en-US');
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
