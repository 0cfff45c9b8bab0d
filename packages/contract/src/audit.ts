import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';

const instantMs = z
  .string()
  .regex(/^\d{1,15}$/, 'must be milliseconds since 1970')
  .transform((text) => new Date(Number(text)))
  .meta({ type: 'integer', minimum: 0, pattern: undefined });

export const AuditListQuery = z.object({
  ...pageQuery,
  search: z.string().default('').describe('Part of the name of who acted or of the action, in any letter case.'),
  userId: z.string().optional().describe('Of the account that made the change.'),
  subjectId: z.string().optional().describe('Id of what was changed.'),
  action: z.string().optional().describe('What was done, e.g. `website.delete`.'),
  startAt: instantMs.optional().describe('Start of the range, included, in milliseconds since 1970.'),
  endAt: instantMs.optional().describe('End of the range, included, in milliseconds since 1970.'),
});
export type AuditListQuery = z.infer<typeof AuditListQuery>;

/**
 * Who changed what: an account (`userId`), with which key if with one, or what has no account (the operator's command
 * line).
 */
export const AuditRecord = z.object({
  id: z.number().int(),
  createdAt: z.iso.datetime(),
  userId: z.guid().nullable(),
  username: z.string().describe("The account's name at that time."),
  apiKeyId: z.guid().nullable(),
  requestId: z.string().nullable(),
  action: z.string(),
  subjectId: z.string().describe('Of the user, key, team, website, share or segment.'),
  details: z.record(z.string(), z.unknown()),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

export const AuditList = pageAnswer(AuditRecord);
export type AuditList = z.infer<typeof AuditList>;
