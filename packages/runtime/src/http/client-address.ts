import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Lru } from '../lru.ts';
import { normalizeAddress } from './address.ts';
import { createAddressList } from './address-list.ts';
import { forwardedClients } from './forwarded.ts';

export type ClientAddress = {
  /** Normalised; '' when even the socket has none. */
  address: string;
  /** Whether the socket is one of our proxies', so that its headers may be believed. */
  isProxyTrusted: boolean;
};

const rememberedAddresses = 10_000;
/** Longer headers are not remembered, so that nobody fills the memory with them. */
const rememberedHeaderMax = 200;

/**
 * Finds the client's address (docs/semantics.md "Client address"): the socket's, or, when that is a trusted proxy's,
 * the rightmost untrusted address of X-Forwarded-For or else Forwarded; with `clientIpHeader` that of this header
 * instead. An address that a trusted proxy left unreadable cannot be told from a forged one, so the socket's counts
 * then.
 */
export function createClientAddresses(options: {
  trustedProxies: readonly string[];
  clientIpHeader?: string | undefined;
}) {
  const isTrusted = createAddressList(options.trustedProxies);
  const sockets = new Lru<string, ClientAddress>(rememberedAddresses);
  const clients = {
    list: new Lru<string, string | null>(rememberedAddresses),
    forwarded: new Lru<string, string | null>(rememberedAddresses),
  };
  const header = options.clientIpHeader?.toLowerCase();

  function socketOf(remoteAddress: string): ClientAddress {
    const known = sockets.get(remoteAddress);
    if (known) return known;
    const address = normalizeAddress(remoteAddress) ?? '';
    const socket = { address, isProxyTrusted: address !== '' && isTrusted(address) };
    sockets.set(remoteAddress, socket);
    return socket;
  }

  /** What the proxies say; a visitor's requests say the same again and again. */
  function clientOf(headers: IncomingHttpHeaders): string | null {
    const name = header ?? (headers['x-forwarded-for'] === undefined ? 'forwarded' : 'x-forwarded-for');
    const value = String(headers[name] ?? '');
    const form = name === 'forwarded' ? 'forwarded' : 'list';
    const known = clients[form].get(value);
    if (known !== undefined) return known;
    const address = rightmostUntrusted(form === 'forwarded' ? forwardedClients(value) : value.split(','), isTrusted);
    if (value.length <= rememberedHeaderMax) clients[form].set(value, address);
    return address;
  }

  return (request: IncomingMessage): ClientAddress => {
    const socket = socketOf(request.socket.remoteAddress ?? '');
    if (!socket.isProxyTrusted) return socket;
    const address = clientOf(request.headers);
    return address === null ? socket : { address, isProxyTrusted: true };
  };
}

/**
 * `entries`: nearest proxy last. Null when there is none, or when the chain is broken by something unreadable before
 * one is found.
 */
function rightmostUntrusted(entries: readonly string[], isTrusted: (address: string) => boolean): string | null {
  let address: string | null = null;
  for (const entry of entries.toReversed()) {
    if (entry.trim() === '') continue;
    address = normalizeAddress(entry);
    if (address === null || !isTrusted(address)) return address;
  }
  return address;
}
