import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';

const instantMs = z
  .string()
  .regex(/^\d{1,15}$/, 'must be milliseconds since 1970')
  .transform((text) => new Date(Number(text)));

/** `startAt`, `endAt` in milliseconds, both inclusive. */
export const AuditListQuery = z.object({
  ...pageQuery,
  search: z.string().default(''),
  userId: z.string().optional(),
  subjectId: z.string().optional(),
  action: z.string().optional(),
  startAt: instantMs.optional(),
  endAt: instantMs.optional(),
});
export type AuditListQuery = z.infer<typeof AuditListQuery>;

/** Who changed what: an account (`userId`), with which key if with one, or what has no account (the operator's command line). */
export const AuditRecord = z.object({
  id: z.number().int(),
  createdAt: z.iso.datetime(),
  userId: z.guid().nullable(),
  /** The account's name at that time. */
  username: z.string(),
  apiKeyId: z.guid().nullable(),
  requestId: z.string().nullable(),
  action: z.string(),
  /** Of the user, key, team, website, share or segment. */
  subjectId: z.string(),
  details: z.record(z.string(), z.unknown()),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

export const AuditList = pageAnswer(AuditRecord);
export type AuditList = z.infer<typeof AuditList>;
