import { createHmac, timingSafeEqual } from 'node:crypto';

/** The header in which a region says that it hands a request on. */
export const peerHeader = 'x-meridian-peer';

/** How far the clocks of two regions may differ; for as long a header that somebody got hold of could be repeated. */
const clocksApartMaxMs = 15 * 60_000;

/** What a region knows of a request that it hands on. */
export type HandedOn = {
  /** The client's address, as the region saw it; '' = none. */
  address: string;
  /**
   * For how long the region has had the request: what was spooled is old. By its own clock, so that no two clocks are
   * compared.
   */
  ageMs: number;
};

/** What a region says of a request that it hands on; `from`: its name. */
type Claim = HandedOn & { from: string };

/** A claim that is true. `receivedAtMs`: when the request came to that region, by the clock of this one, Unix ms. */
export type PeerClaim = Omit<Claim, 'ageMs'> & { receivedAtMs: number };

/** The request that a claim is about, and to which region it goes: none of it can be changed under one signature. */
type About = { to: string; method: string; path: string };

/** Signs and checks claims. Nothing of a client is ever believed: without the secret there is no valid claim. */
export function createPeerClaims(secret: string, now: () => number = Date.now) {
  const key = createHmac('sha256', secret).update('peer claim').digest();
  const signatureOf = (fields: string[], { to, method, path }: About) =>
    createHmac('sha256', key)
      .update([...fields, to, method, path].join('\n'))
      .digest('base64url');

  return {
    sign({ from, address, ageMs }: Claim, about: About): string {
      const fields = [from, String(now()), String(ageMs), address];
      return [...fields, signatureOf(fields, about)].join(',');
    },
    /**
     * Null when it is not signed with the secret, is about something else, is too old, or tells no times. `signedAtMs`:
     * by the clock of who signed it, Unix ms.
     */
    verify(header: string | string[] | undefined, about: About): (Claim & { signedAtMs: number }) | null {
      const fields = String(header).split(',');
      const given = Buffer.from(fields.pop() ?? '');
      const expected = Buffer.from(signatureOf(fields, about));
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
      // What a later version tells besides comes behind these, signed with them.
      const [from, at, age, address] = fields;
      if (from === undefined || address === undefined) return null;
      const signedAtMs = Number(at);
      const ageMs = Number(age);
      // Written so that what is no number is refused too.
      if (!(Math.abs(now() - signedAtMs) <= clocksApartMaxMs)) return null;
      if (!(ageMs >= 0 && ageMs < Number.POSITIVE_INFINITY)) return null;
      return { from, address, ageMs, signedAtMs };
    },
  };
}
