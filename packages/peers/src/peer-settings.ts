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
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    for (const entry of text.split(',').filter((part) => part.trim() !== '')) {
      const [region = '', url = ''] = entry.split(/=(.*)/s).map((part) => part.trim());
      if (!regionPattern.test(region) || !/^https?:\/\/[^/?#@]+\/?$/.test(url) || !URL.canParse(url))
        refuse('must be like eu=https://eu.example.com,us=https://us.example.com');
      else if (urls.has(region)) refuse(`names ${region} twice`);
      else urls.set(region, url.replace(/\/$/, ''));
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

const readTogether = ['REGION', 'PEERS', 'PEER_SECRET'];

/** For the configuration of a process that hands on requests: a region that is no other one's peer needs no secret. */
export function withPeerSecret<Schema extends z.ZodType<PeerSettings & { REGION: string }>>(schema: Schema) {
  return schema.refine(
    ({ REGION, PEERS, PEER_SECRET }) => PEER_SECRET !== undefined || [...PEERS.keys()].every((name) => name === REGION),
    {
      path: ['PEER_SECRET'],
      message: 'is required where PEERS names another region',
      // Told beside the faults of other variables, which else would hide it.
      when: ({ issues }) => !issues.some(({ path }) => readTogether.includes(String(path?.[0]))),
    },
  );
}
