import { createHmac, hash } from 'node:crypto';

/** Months whose salt is kept at hand; a backfill over more years only computes them again. */
const rememberedSalts = 64;

/** Session ids (docs/semantics.md "Sessions and visits"): UUIDs in the form of version 5, made from a hash. */
export type SessionIds = {
  /** Always the same for one website and one id that the application gave its visitor. */
  ofId(websiteId: string, id: string): string;
  /**
   * The same for one website, address and User-Agent within a UTC month (that of the event's time, Unix ms). The month's
   * salt comes from the secret, so that nobody else can find an address by trying.
   */
  ofClient(websiteId: string, address: string, userAgent: string, timeMs: number): string;
};

export function createSessionIds(appSecret: string): SessionIds {
  const salts = new Map<number, string>();

  function saltOf(timeMs: number): string {
    const time = new Date(timeMs);
    const month = time.getUTCFullYear() * 12 + time.getUTCMonth();
    const known = salts.get(month);
    if (known) return known;
    if (salts.size >= rememberedSalts) salts.clear();
    const salt = createHmac('sha256', appSecret).update(`session salt of month ${month}`).digest('hex');
    salts.set(month, salt);
    return salt;
  }

  return {
    ofId: (websiteId, id) => hashUuid(`id\n${websiteId}\n${id}`),
    ofClient: (websiteId, address, userAgent, timeMs) =>
      hashUuid(`client\n${saltOf(timeMs)}\n${websiteId}\n${address}\n${userAgent}`),
  };
}

function hashUuid(text: string): string {
  const hex = hash('sha256', text, 'hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
