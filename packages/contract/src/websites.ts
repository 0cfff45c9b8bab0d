import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';

/** Letters of any script, digits and inner hyphens, at most 63 characters between two dots; then a port, if any. */
const hostPattern =
  /^[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?(?:\.[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?)*(?::\d{1,5})?$/u;

const Name = z.string().min(1).max(100);

/** A host name with an optional port; a scheme before and a slash behind are taken off. */
const Domain = z
  .string()
  .transform((text) => text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/$/, ''))
  .pipe(z.string().min(1).max(500).regex(hostPattern, 'must be a host name'))
  .describe('Host name, with a port if need be; at most 500 characters without scheme and slash.');

/** An empty string means null: no sharing. */
const ShareId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{0,50}$/, 'must have 1 to 50 characters of A-Z a-z 0-9 _ -')
  .transform((text) => text || null)
  .nullable();

const nilUuid = '00000000-0000-0000-0000-000000000000';

const WebsiteId = z
  .guid('must be a UUID')
  .refine((id) => id !== nilUuid, 'must not be the nil UUID')
  .transform((id) => id.toLowerCase());

export const CreateWebsiteBody = z.object({
  name: Name,
  domain: Domain,
  shareId: ShareId.optional().describe('Slug of a public share; null or left out: not shared.'),
  teamId: z.string().nullish().describe('The team that owns the website; null or left out: a personal website.'),
  id: WebsiteId.nullish().describe('Made by the server when null or left out.'),
});

const rate = z.number().min(0).max(1);

export const ReplayConfig = z.object({
  replayEnabled: z.boolean(),
  heatmapEnabled: z.boolean(),
  sampleRate: rate.describe('Part of the sessions that is recorded, 0 to 1.'),
  heatmapSampleRate: rate.describe('Part of the sessions of which heatmap data is captured, 0 to 1.'),
  maskLevel: z.enum(['strict', 'moderate', 'none']),
  blockSelector: z.string().max(1_000).describe('CSS selector of what is not recorded.'),
  maxDuration: z.number().min(0).max(86_400).describe('Of one recording, in seconds; 0 = no limit.'),
});

/** What is left out stays. */
export const UpdateWebsiteBody = z.object({
  name: Name.optional(),
  domain: Domain.optional(),
  shareId: ShareId.optional().describe('Slug of the public share; null ends sharing.'),
  replayConfig: ReplayConfig.partial().nullish().describe('Merged field by field; null resets it.'),
});

export const WebsiteOrder = z.enum(['name', 'domain', 'createdAt', 'updatedAt']);

export const WebsiteListQuery = z.object({
  ...pageQuery,
  search: z.string().default('').describe('Part of the name or domain, in any letter case.'),
  orderBy: WebsiteOrder.default('name').describe('What the list is ordered by.'),
  sortDescending: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe('Whether the order is reversed.'),
  includeTeams: z
    .string()
    .optional()
    .describe('Any value adds the websites of teams in which the caller is owner or manager.'),
});
export type WebsiteListQuery = z.infer<typeof WebsiteListQuery>;

export const WebsiteRecord = z.object({
  id: z.guid(),
  name: z.string(),
  domain: z.string(),
  shareId: z.string().nullable(),
  teamId: z.guid().nullable().describe('Either the team or the user owns the website.'),
  userId: z.guid().nullable(),
  createdBy: z.guid(),
  recorderEnabled: z.boolean().describe('Whether sessions or heatmaps are recorded.'),
  replayConfig: ReplayConfig,
  resetAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  deletedAt: z.null().describe('A deleted website is never shown.'),
  user: z
    .object({ id: z.guid(), username: z.string() })
    .describe("The owning user, or the creator of a team's website."),
});
export type WebsiteRecord = z.infer<typeof WebsiteRecord>;

export const WebsiteList = pageAnswer(WebsiteRecord);
export type WebsiteList = z.infer<typeof WebsiteList>;
