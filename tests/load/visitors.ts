import type { PreparedRequest, Visit } from './traffic.ts';

/** Somebody who is about to send some requests. */
export type Visitor = {
  /** Whether he hands back the token of the last answer. */
  keepsToken: boolean;
  /**
   * The next request as it goes over the wire; null when there are no more. `token`: of the last answer, '' for none.
   */
  nextRequest(token: string): string | null;
};
export type NextVisitor = () => Visitor;

/** A new visitor with each call, without end: the visits come again, from addresses that nobody had before. */
export function createVisitors(visits: readonly Visit[]): NextVisitor {
  let count = 0;
  return () => {
    const visit = visits[count % visits.length];
    if (!visit) throw new Error('no visits');
    const address = addressOf(count++);
    let sent = 0;
    return {
      keepsToken: visit.keepsToken,
      nextRequest(token) {
        const request = visit.requests[sent++];
        return request ? toRequest(request, address, token) : null;
      },
    };
  };
}

/** A public IPv4 address for each number up to 300 million. */
export function addressOf(n: number): string {
  return `${20 + ((n >> 24) & 15)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

export function toRequest({ head, rest }: PreparedRequest, address: string, token: string): string {
  return `${head}${address}\r\n${token === '' ? '' : `x-umami-cache: ${token}\r\n`}${rest}`;
}
