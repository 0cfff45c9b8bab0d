import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';

/** Letters of any script, digits and inner hyphens, at most 63 characters between two dots; then a port, if any. */
const hostPattern =
  /^[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?(?:\.[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?)*(?::\d{1,5})?$/u;

const Name = z.string().min(1).max(100);

/** A host name with an optional port; a scheme before and a slash behind are taken off. */
const Domain = z
  .string()
  .max(500)
  .transform((text) => text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/$/, ''))
  .pipe(z.string().min(1).regex(hostPattern, 'must be a host name'));

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
  shareId: ShareId.optional(),
  /** Null or left out: a personal website. */
  teamId: z.string().nullish(),
  /** Made by the server when null or left out. */
  id: WebsiteId.nullish(),
});

const rate = z.number().min(0).max(1);

export const ReplayConfig = z.object({
  replayEnabled: z.boolean(),
  heatmapEnabled: z.boolean(),
  /** Share of sessions, 0 to 1. */
  sampleRate: rate,
  heatmapSampleRate: rate,
  maskLevel: z.enum(['strict', 'moderate', 'none']),
  /** CSS selector. */
  blockSelector: z.string().max(1_000),
  /** Seconds; 0 = no limit. */
  maxDuration: z.number().min(0).max(86_400),
});

/** What is left out stays. `replayConfig` is merged field by field; null resets it. */
export const UpdateWebsiteBody = z.object({
  name: Name.optional(),
  domain: Domain.optional(),
  shareId: ShareId.optional(),
  replayConfig: ReplayConfig.partial().nullish(),
});

export const WebsiteOrder = z.enum(['name', 'domain', 'createdAt', 'updatedAt']);

export const WebsiteListQuery = z.object({
  ...pageQuery,
  search: z.string().default(''),
  orderBy: WebsiteOrder.default('name'),
  sortDescending: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
  /** Any value means yes. */
  includeTeams: z.string().optional(),
});
export type WebsiteListQuery = z.infer<typeof WebsiteListQuery>;

export const WebsiteRecord = z.object({
  id: z.guid(),
  name: z.string(),
  domain: z.string(),
  shareId: z.string().nullable(),
  /** Either the team or the user owns the website. */
  teamId: z.guid().nullable(),
  userId: z.guid().nullable(),
  createdBy: z.guid(),
  recorderEnabled: z.boolean(),
  replayConfig: ReplayConfig,
  resetAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** A deleted website is never shown. */
  deletedAt: z.null(),
  /** The owning user, or the creator of a team's website. */
  user: z.object({ id: z.guid(), username: z.string() }),
});
export type WebsiteRecord = z.infer<typeof WebsiteRecord>;

export const WebsiteList = pageAnswer(WebsiteRecord);
export type WebsiteList = z.infer<typeof WebsiteList>;
