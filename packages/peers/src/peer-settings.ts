import { z } from 'zod';

const regionPattern = /^[a-z][a-z0-9-]*$/;

/**
 * `PEERS`: the other regions of the installation, as `eu=https://eu.example.com,us=…`; the process's own may be among
 * them.
 */
const peers = z
  .string()
  .default('')
  .transform((text, context) => {
    const urls = new Map<string, string>();
    for (const entry of text.split(',').filter((part) => part.trim() !== '')) {
      const [region = '', url = ''] = entry.split(/=(.*)/s).map((part) => part.trim());
      if (regionPattern.test(region) && /^https?:\/\/[^/?#]+\/?$/.test(url)) urls.set(region, url.replace(/\/$/, ''));
      else
        context.addIssue({
          code: 'custom',
          message: 'must be like eu=https://eu.example.com,us=https://us.example.com',
        });
    }
    return urls;
  });

/** What a process must know to hand requests to other regions and to take theirs. */
export const PeerSettings = z.object({
  PEERS: peers,
  /** The same in every region; at least 32 bytes. */
  PEER_SECRET: z
    .string()
    .refine((secret) => Buffer.byteLength(secret) >= 32, 'must have at least 32 bytes')
    .optional(),
});
export type PeerSettings = z.infer<typeof PeerSettings>;
