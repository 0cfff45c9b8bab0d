import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';
import { WebsiteListQuery } from './websites.ts';

export const TeamRole = z.enum(['team-owner', 'team-manager', 'team-member', 'team-view-only']);

const Name = z.string().trim().min(1).max(100);

/** An access code that somebody chose: nobody may guess it, so it is not short. */
const ChosenAccessCode = z.string().regex(/^[A-Za-z0-9_-]{16,50}$/, 'must have 16 to 50 characters of A-Z a-z 0-9 _ -');

export const CreateTeamBody = z.object({
  name: Name,
  ownerId: z
    .string()
    .nullish()
    .describe('Account that owns the team; only administrators name another one than themselves.'),
});

/** What is left out stays. */
export const UpdateTeamBody = z.object({
  name: Name.optional(),
  accessCode: z
    .union([z.literal(''), ChosenAccessCode])
    .nullish()
    .describe('A new access code, which ends the one before; null or empty: the server makes one.'),
});

export const JoinTeamBody = z.object({ accessCode: z.string().min(1).max(50) });

export const AddTeamMemberBody = z.object({ userId: z.string().min(1).describe('An account.'), role: TeamRole });

export const UpdateTeamMemberBody = z.object({ role: TeamRole });

export const TeamOrder = z.enum(['name', 'createdAt', 'updatedAt']);

export const TeamListQuery = z.object({
  ...pageQuery,
  search: z.string().default('').describe('Part of the name, in any letter case.'),
  orderBy: TeamOrder.default('name').describe('What the list is ordered by.'),
  sortDescending: WebsiteListQuery.shape.sortDescending,
});

export const TeamMemberListQuery = z.object({
  ...pageQuery,
  search: z.string().default('').describe('Part of the username, in any letter case.'),
});

/** Of a team's websites, and of all there are. */
export const TeamWebsitesQuery = WebsiteListQuery.omit({ includeTeams: true });

/** Exactly one of the two. */
export const TransferWebsiteBody = z
  .object({
    userId: z.string().nullish().describe('The account that gets the website.'),
    teamId: z.string().nullish().describe('The team that gets the website.'),
  })
  .transform(({ userId, teamId }, context) => {
    if (userId && !teamId) return { userId };
    if (teamId && !userId) return { teamId };
    context.issues.push({
      code: 'custom',
      input: userId,
      path: ['userId'],
      message: 'either userId or teamId is required',
    });
    return z.NEVER;
  });

export const TeamRecord = z.object({
  id: z.guid(),
  name: z.string(),
  accessCode: z.string().nullable().describe('Who sends it joins. Null for members who may not change the team.'),
  logoUrl: z.string().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  deletedAt: z.null().describe('A deleted team is never shown.'),
});
export type TeamRecord = z.infer<typeof TeamRecord>;

export const TeamList = pageAnswer(TeamRecord);
export type TeamList = z.infer<typeof TeamList>;

export const TeamMemberRecord = z.object({
  id: z.guid().describe('Of the membership.'),
  teamId: z.guid(),
  userId: z.guid(),
  role: TeamRole,
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  user: z.object({ id: z.guid(), username: z.string() }),
});
export type TeamMemberRecord = z.infer<typeof TeamMemberRecord>;

export const TeamMemberList = pageAnswer(TeamMemberRecord);
export type TeamMemberList = z.infer<typeof TeamMemberList>;

/** The team and the membership of its owner. */
export const CreatedTeam = z.tuple([TeamRecord, TeamMemberRecord]);
export type CreatedTeam = z.infer<typeof CreatedTeam>;
