import type { PreparedRequest, Visit } from './traffic.ts';

/** Somebody who is about to send the requests of a visit, from an address that nobody had before. */
export type Visitor = Visit & { address: string };
export type NextVisitor = () => Visitor;

/** A new visitor with each call, without end: the visits come again, with other addresses. */
export function createVisitors(visits: readonly Visit[]): NextVisitor {
  let count = 0;
  return () => {
    const visit = visits[count % visits.length];
    if (!visit) throw new Error('no visits');
    return { ...visit, address: addressOf(count++) };
  };
}

/** A public IPv4 address for each number up to 300 million. */
export function addressOf(n: number): string {
  return `${20 + ((n >> 24) & 15)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

/** @param token of the last answer, '' for none */
export function toRequest({ head, rest }: PreparedRequest, address: string, token: string): string {
  return `${head}${address}\r\n${token === '' ? '' : `x-umami-cache: ${token}\r\n`}${rest}`;
}
