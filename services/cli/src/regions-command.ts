import { countByRegion } from '@meridian/registry/region-counts';
import { parseFlag } from './arguments.ts';
import { secondsAhead } from './checks/clocks.ts';
import { messageOf } from './checks/finding.ts';
import { askRegion } from './checks/regions.ts';
import { type Print, toPrintableJson, toTable } from './print.ts';

type RegionsDeps = {
  databaseUrl: string;
  /** All that are known, with an address or without. */
  regions: readonly string[];
  /** Addresses of the regions. */
  peers: ReadonlyMap<string, string>;
  now: () => Date;
};

/** What is known of one region; `state` is `answers`, or what is in the way. */
type RegionLine = {
  region: string;
  address: string | null;
  state: string;
  latencyMs: number | null;
  /** Its clock against this machine's; to a second. */
  aheadMs: number | null;
  accounts: number;
  websites: number;
};

const answers = 'answers';
const noAddress = 'not in PEERS';

/**
 * `meridian regions`: every region that PEERS, REGION or an account or a website names. The exit code is 1 when one
 * with an address does not answer as itself, or when one that holds something has no address among several.
 */
export async function runRegions(deps: RegionsDeps, args: string[], print: Print): Promise<number> {
  const { databaseUrl, regions, peers, now } = deps;
  const json = parseFlag(args, 'json');
  const counts = await countByRegion(databaseUrl);
  const names = [...new Set([...regions, ...counts.keys()])];
  const lines = await Promise.all(
    names.map(async (name): Promise<RegionLine> => {
      const address = peers.get(name) ?? null;
      const { accounts, websites } = counts.get(name) ?? { accounts: 0, websites: 0 };
      return { region: name, address, ...(await look(name, address, now)), accounts, websites };
    }),
  );
  if (json) print(toPrintableJson(lines));
  else for (const line of toTable([heads, ...lines.map(toCells)])) print(line);
  const isWrong = ({ region: name, address, state }: RegionLine) =>
    address === null ? !regions.includes(name) || peers.size > 0 : state !== answers;
  return lines.some(isWrong) ? 1 : 0;
}

async function look(name: string, address: string | null, now: () => Date) {
  if (address === null) return { state: noAddress, latencyMs: null, aheadMs: null };
  try {
    const { region, latencyMs, aheadMs } = await askRegion(address, now);
    const state = region === name ? answers : `is ${region === '' ? 'no region' : `region ${region}`}`;
    return { state, latencyMs: Math.round(latencyMs), aheadMs: aheadMs === null ? null : Math.round(aheadMs) };
  } catch (error) {
    return { state: messageOf(error), latencyMs: null, aheadMs: null };
  }
}

const heads = ['REGION', 'ADDRESS', 'LATENCY', 'CLOCK', 'ACCOUNTS', 'WEBSITES', 'STATE'];

function toCells({ region, address, state, latencyMs, aheadMs, accounts, websites }: RegionLine): string[] {
  return [
    region,
    address ?? '-',
    latencyMs === null ? '-' : `${latencyMs} ms`,
    aheadMs === null ? '-' : secondsAhead(aheadMs),
    String(accounts),
    String(websites),
    state,
  ];
}
