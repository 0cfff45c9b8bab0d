import { repeatRemovals } from '@meridian/registry/repeat-removals';
import { parseFlag } from './arguments.ts';
import { type Print, toPrintableJson } from './print.ts';

/**
 * `meridian repeat-removals`: what was deleted or reset in the region is removed once more, by its workers, within
 * minutes.
 */
export async function runRepeatRemovals(
  { databaseUrl, region }: { databaseUrl: string; region: string },
  args: string[],
  print: Print,
): Promise<number> {
  const json = parseFlag(args, 'json');
  const { purges, resets } = await repeatRemovals(databaseUrl, region);
  if (json) print(toPrintableJson({ region, purges, resets }));
  else print(`Region ${region}: ${purges} deleted websites and ${resets} resets will be removed again.`);
  return 0;
}
