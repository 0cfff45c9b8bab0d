import { parseArgs } from 'node:util';
import { type Capacity, type Load, loadDefaults, planCapacity } from './plan-capacity.ts';

/*
 * What a region needs for a load: npm run capacity -- --events-per-second 1000000. Every number of plan-capacity.ts's
 * Load is an option, by its name with hyphens.
 */

const names = Object.keys(loadDefaults) as (keyof Load)[];
const optionOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const { values } = parseArgs({
  options: Object.fromEntries(names.map((name) => [optionOf(name), { type: 'string' as const }])),
});
const given = names.flatMap((name) => {
  const text = values[optionOf(name)];
  if (text === undefined) return [];
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`--${optionOf(name)} is not a number: ${text}`);
  return [[name, value] as const];
});
print(planCapacity({ ...loadDefaults, ...Object.fromEntries(given) }));

function print(capacity: Capacity): void {
  const lines = Object.values(capacity).map(({ what, value, unit, because }) => ({
    what,
    need: `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} ${unit}`.trim(),
    because,
  }));
  const width = (key: 'what' | 'need') => Math.max(...lines.map((line) => line[key].length));
  for (const { what, need, because } of lines)
    console.log(`${what.padEnd(width('what'))}  ${need.padStart(width('need'))}  ${because}`);
}
