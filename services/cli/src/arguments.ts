import { parseArgs } from 'node:util';
import { UsageError } from './usage.ts';

const limitDefault = 50;
const limitMax = 10_000;

/** What a list is asked for. */
export function parseListArguments(args: string[]): { limit: number; json: boolean } {
  const { values } = parseOrExplain(() =>
    parseArgs({ args, options: { limit: { type: 'string' }, json: { type: 'boolean', default: false } } }),
  );
  const limit = Number(values.limit ?? limitDefault);
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax)
    throw new UsageError(`--limit is a number from 1 to ${limitMax}`);
  return { limit, json: values.json ?? false };
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
  const { values } = parseOrExplain(() =>
    parseArgs({ args, options: { [name]: { type: 'boolean', default: false } } }),
  );
  return values[name] === true;
}

function parseOrExplain<Parsed>(parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
