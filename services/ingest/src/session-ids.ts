import { createHmac, hash } from 'node:crypto';
import { readUuid } from '@meridian/queue/uuid-bytes';

/** Months whose salt is kept at hand; a backfill over more years only computes them again. */
const rememberedSalts = 64;

/** Session ids (docs/semantics.md "Sessions and visits"): UUIDs in the form of version 5, made from a hash. */
export type SessionIds = {
  /** Always the same for one website and one id that the application gave its visitor. */
  ofId(websiteId: string, id: string): string;
  /**
   * The same for one website, address and User-Agent within a UTC month (that of the event's time, Unix ms). The
   * month's salt comes from the secret, so that nobody else can find an address by trying.
   */
  ofClient(websiteId: string, address: string, userAgent: string, timeMs: number): string;
};

export function createSessionIds(secret: string): SessionIds {
  const salts = new Map<number, string>();

  function saltOf(timeMs: number): string {
    const time = new Date(timeMs);
    const month = time.getUTCFullYear() * 12 + time.getUTCMonth();
    const known = salts.get(month);
    if (known) return known;
    if (salts.size >= rememberedSalts) salts.clear();
    const salt = createHmac('sha256', secret).update(`session salt of month ${month}`).digest('hex');
    salts.set(month, salt);
    return salt;
  }

  return {
    ofId: (websiteId, id) => hashUuid(`id\n${websiteId}\n${id}`),
    ofClient: (websiteId, address, userAgent, timeMs) =>
      hashUuid(`client\n${saltOf(timeMs)}\n${websiteId}\n${address}\n${userAgent}`),
  };
}

const digest = Buffer.alloc(32);

function hashUuid(text: string): string {
  digest.write(hash('sha256', text, 'binary'), 'latin1');
  digest[6] = 0x50 | ((digest[6] ?? 0) & 0x0f);
  digest[8] = 0x80 | ((digest[8] ?? 0) & 0x3f);
  return readUuid(digest, 0);
}
