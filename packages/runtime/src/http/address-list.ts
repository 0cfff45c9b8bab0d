import ipaddr from 'ipaddr.js';
import { Lru } from '../lru.ts';
import { normalizeAddress } from './address.ts';

type Range = ReturnType<typeof ipaddr.parseCIDR>;

const rememberedAddresses = 10_000;

/**
 * Tells whether a normalised address is in one of the ranges.
 * @param entries addresses and CIDR ranges: `10.0.0.0/8`, `2001:db8::/32`, `127.0.0.1`
 * @throws Error that names the entry that is neither
 */
export function createAddressList(entries: readonly string[]): (address: string) => boolean {
  const ranges = entries.map(parseRange);
  if (ranges.length === 0) return () => false;
  const answers = new Lru<string, boolean>(rememberedAddresses);
  return (address) => {
    const known = answers.get(address);
    if (known !== undefined) return known;
    const parsed = ipaddr.parse(address);
    const listed = ranges.some((range) => range[0].kind() === parsed.kind() && parsed.match(range));
    answers.set(address, listed);
    return listed;
  };
}

function parseRange(entry: string): Range {
  const [address = '', bits, ...more] = entry.split('/');
  const normal = normalizeAddress(address);
  const whole = normal === null ? 0 : ipaddr.parse(normal).kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? whole : Number(bits);
  const isRange = normal !== null && more.length === 0 && Number.isInteger(length) && length >= 0 && length <= whole;
  if (!isRange || bits === '') throw new Error(`"${entry}" is no address and no CIDR range`);
  return ipaddr.parseCIDR(`${normal}/${length}`);
}
