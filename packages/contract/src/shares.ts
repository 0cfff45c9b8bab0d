import { z } from 'zod';
import { isDeeperThan } from './nesting.ts';
import { pageAnswer, pageQuery } from './paging.ts';

const parametersMaxCharacters = 10_000;
/** The parameters themselves are the first level. */
const parametersDepthMax = 32;

/** The kind of what is shared: a website, the only one here. */
export const shareTypes = { website: 1 } as const;
const ShareType = z.literal(shareTypes.website, 'must be 1: only websites can be shared');

/** What a public link ends in. */
export const ShareSlug = z.string().regex(/^[A-Za-z0-9_-]{1,50}$/, 'must have 1 to 50 characters of A-Z a-z 0-9 _ -');

/** Null and an empty text mean: a random one. */
const WantedSlug = z.preprocess((slug) => slug || undefined, ShareSlug.optional());

/** What the server goes by. Other keys, such as `overview`, mean something to a dashboard only, and are kept. */
const ShareParameters = z
  .looseObject({
    events: z.boolean().optional().describe('false: the link does not show the event log.'),
  })
  .refine((parameters) => !isDeeperThan(parameters, parametersDepthMax), {
    message: `must not be nested deeper than ${parametersDepthMax} levels`,
    abort: true, // the next check would run out of stack
  })
  .refine(
    (parameters) => JSON.stringify(parameters).length <= parametersMaxCharacters,
    `must have at most ${parametersMaxCharacters} characters`,
  );
export type ShareParameters = z.infer<typeof ShareParameters>;

/** Unless something else is given. */
const NewParameters = z.preprocess((given) => given ?? { overview: true, events: true }, ShareParameters);

const Name = z.string().min(1).max(200);

export const CreateShareBody = z.object({
  entityId: z.string().describe('Id of the website.'),
  shareType: ShareType,
  name: Name,
  slug: WantedSlug,
  parameters: NewParameters,
});

export const CreateWebsiteShareBody = CreateShareBody.omit({ entityId: true, shareType: true });

/** What is left out stays. */
export const UpdateShareBody = z.object({
  name: Name.optional(),
  slug: ShareSlug.optional(),
  parameters: ShareParameters.optional(),
});

export const ShareListQuery = z.object({
  ...pageQuery,
  search: z.string().default('').describe('Part of the name or of the slug, in any letter case.'),
});

const StoredParameters = z.record(z.string(), z.unknown());

export const ShareRecord = z.object({
  id: z.guid(),
  entityId: z.guid().describe('Id of the website.'),
  name: z.string(),
  shareType: ShareType,
  slug: z.string(),
  parameters: StoredParameters,
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type ShareRecord = z.infer<typeof ShareRecord>;

/** Newest first. */
export const ShareList = pageAnswer(ShareRecord);
export type ShareList = z.infer<typeof ShareList>;

/** What a public link leads to. */
export const ResolvedShare = z.object({
  shareId: z.guid(),
  shareType: ShareType,
  parameters: StoredParameters,
  websiteId: z.guid(),
  token: z.string().describe('Reads the website while the link exists: sent as x-umami-share-token.'),
});
export type ResolvedShare = z.infer<typeof ResolvedShare>;

/** All that a link tells of its website. */
export const SharedWebsite = z.object({ id: z.guid(), name: z.string(), domain: z.string() });
export type SharedWebsite = z.infer<typeof SharedWebsite>;

/** As `GET /me` shows a share link's token. */
export const ShareTokenRecord = ResolvedShare.pick({ shareType: true, websiteId: true, parameters: true });
export type ShareTokenRecord = z.infer<typeof ShareTokenRecord>;
