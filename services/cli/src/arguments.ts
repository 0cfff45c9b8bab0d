import { parseArgs } from 'node:util';
import { isUuid } from '@meridian/contract/ids';
import type { RollupScope } from '@meridian/warehouse/rollups/parts';
import { z } from 'zod';
import { UsageError } from './usage.ts';

const limitDefault = 50;
const limitMax = 10_000;

/** What a list is asked for. */
export function parseListArguments(args: string[]): { limit: number; json: boolean } {
  const { limit, json } = parseOptions(args, ['limit'], ['json']);
  return { limit: parseLimit(limit), json };
}

/** The value of `--limit`. */
export function parseLimit(text: string | undefined): number {
  const limit = Number(text ?? limitDefault);
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax)
    throw new UsageError(`--limit is a number from 1 to ${limitMax}`);
  return limit;
}

/** The value of `--website`. */
export function parseWebsiteId(text: string): string {
  if (!isUuid(text)) throw new UsageError('--website is the id of a website');
  return text;
}

/** Options with a value and options without one, nothing else. */
export function parseOptions<Text extends string, Flag extends string>(
  args: string[],
  texts: readonly Text[],
  flags: readonly Flag[],
): { [Name in Text]?: string } & { [Name in Flag]: boolean } {
  const options = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' }] as const),
    ...flags.map((name) => [name, { type: 'boolean', default: false }] as const),
  ]);
  const { values } = parseOrExplain(() => parseArgs({ args, options }));
  return values as { [Name in Text]?: string } & { [Name in Flag]: boolean };
}

/** The value of an option that cannot be left out. */
export function required(option: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new UsageError(`--${option} is required`);
  return value;
}

/** The values of options by the names of the schema's fields ('shareId' for --share-id), as the schema makes them. */
export function checkOptions<Schema extends z.ZodType>(
  schema: Schema,
  values: Record<string, string | undefined>,
): z.output<Schema> {
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => {
    const field = String(path[0]);
    const option = field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return values[field] === undefined ? `--${option} is required` : `--${option}: ${message}`;
  });
  throw new UsageError(faults.join('\n'));
}

/** The name of one of these regions, which are all that are known. */
export function regionAmong(regions: readonly string[]) {
  const message = `is no region of this installation: ${regions.join(', ')} (REGION, PEERS, as the services have them)`;
  return z.string().refine((name) => regions.includes(name), message);
}

/** One id. */
export function parseId(args: string[]): string {
  const [id, ...more] = parseOrExplain(() => parseArgs({ args, allowPositionals: true })).positionals;
  if (id === undefined || more.length > 0) throw new UsageError('Give one id');
  return id;
}

/** One id or all. */
export function parseTarget(args: string[]): { id: string } | 'all' {
  const { values, positionals } = parseOrExplain(() =>
    parseArgs({ args, allowPositionals: true, options: { all: { type: 'boolean', default: false } } }),
  );
  const [id, ...more] = positionals;
  if (more.length > 0 || (id !== undefined) === values.all) throw new UsageError('Give one id, or --all');
  return id === undefined ? 'all' : { id };
}

export function parseFlag(args: string[], name: string): boolean {
  return parseOptions(args, [], [name])[name] === true;
}

/** Which rollups are meant, and whether they are put right. */
export type RollupArguments = { scope: RollupScope; repair: boolean; json: boolean };

/** Dates are days (UTC) or instants; `--to` is the first that is not meant. */
export function parseRollupArguments(args: string[]): RollupArguments {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { website: text, from: text, to: text, repair: flag, json: flag };
  const { website, from, to, repair = false, json = false } = parseOrExplain(() => parseArgs({ args, options })).values;
  if (website !== undefined) parseWebsiteId(website);
  const fromAt = from === undefined ? undefined : parseDate(from);
  const toAt = to === undefined ? undefined : parseDate(to);
  if (fromAt && toAt && fromAt >= toAt) throw new UsageError('--from is before --to');
  return {
    scope: { ...(website && { websiteIds: [website] }), ...(fromAt && { from: fromAt }), ...(toAt && { to: toAt }) },
    repair,
    json,
  };
}

function parseDate(text: string): Date {
  const date = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).safeParse(text);
  if (!date.success)
    throw new UsageError('--from and --to take a day such as 2026-06-10, or an instant such as 2026-06-10T12:00:00Z');
  return new Date(date.data);
}

function parseOrExplain<Parsed>(parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
