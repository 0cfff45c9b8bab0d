import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * One spelling per address: IPv4 as four decimal parts, IPv6 compressed in lower case, IPv4-mapped IPv6 as IPv4.
 * Accepts a port (`203.0.113.7:80`, `[2001:db8::1]:443`, also RFC 7239's obfuscated `:_p4`), brackets and a zone; null
 * for anything else.
 */
export function normalizeAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  const bare = withoutPortAndZone(text.trim());
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return null;
  const parsed = ipaddr.IPv6.parse(bare);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toString();
}

/** What one client has to itself: an IPv4 address, or the first 64 bits of an IPv6 one. `address`: normalised. */
export function networkOf(address: string): string {
  return isIPv6(address) ? ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString() : address;
}

function withoutPortAndZone(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::(?:\d+|_[\w.-]+))?$/.exec(text)?.[1];
  const withPort = /^([\d.]+):(?:\d+|_[\w.-]+)$/.exec(text)?.[1];
  const address = bracketed ?? withPort ?? text;
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}
