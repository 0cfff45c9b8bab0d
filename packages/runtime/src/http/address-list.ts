import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Lru } from '../lru.ts';
import { normalizeAddress } from './address.ts';

type Range = ReturnType<typeof ipaddr.parseCIDR>;

const rememberedAddresses = 10_000;

/**
 * Tells whether a normalised address is in one of the ranges; what is no address is in none.
 * @param entries addresses and CIDR ranges: `10.0.0.0/8`, `2001:db8::/32`, `127.0.0.1`; IPv4-mapped ones are of IPv4
 * @throws Error that names the entry that is neither
 */
export function createAddressList(entries: readonly string[]): (address: string) => boolean {
  const ranges = entries.map(parseRange);
  if (ranges.length === 0) return () => false;
  const answers = new Lru<string, boolean>(rememberedAddresses);
  return (address) => {
    const known = answers.get(address);
    if (known !== undefined) return known;
    if (!isIP(address)) return false;
    const parsed = ipaddr.parse(address);
    const listed = ranges.some((range) => range[0].kind() === parsed.kind() && parsed.match(range));
    answers.set(address, listed);
    return listed;
  };
}

function parseRange(entry: string): Range {
  const [address = '', bits, ...more] = entry.split('/');
  const normal = normalizeAddress(address);
  if (normal === null || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) throw notARange(entry);
  const whole = isIPv4(normal) ? 32 : 128;
  const isMapped = whole === 32 && address.includes(':');
  const length = bits === undefined ? whole : Number(bits) - (isMapped ? 96 : 0);
  if (length < 0 || length > whole) throw notARange(entry);
  return ipaddr.parseCIDR(`${normal}/${length}`);
}

const notARange = (entry: string) => new Error(`"${entry}" is no address and no CIDR range`);
