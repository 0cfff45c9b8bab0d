import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, pgTable, primaryKey, unique, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant, json, text } from './columns.ts';
import type { AccountRole, AuditAction, ReplayConfig, SegmentType, TeamRole } from './rows.ts';

const createdAt = () => instant('created_at').notNull().default(sql`now()`);
const updatedAt = () => instant('updated_at').notNull().default(sql`now()`);

/** One account. Deletion leaves the row, because websites name who created them. */
export const userAccount = pgTable(
  'user_account',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    username: text('username').notNull(),
    /**
     * What makes the name unique whatever its letter case; null once the account is deleted, so that the name is free.
     */
    usernameKey: text('username_key'),
    passwordHash: text('password_hash').notNull(),
    role: text('role').$type<AccountRole>().notNull(),
    homeRegion: text('home_region').notNull(),
    /** Counts password changes; a session carries the number it began with and ends when it changes. */
    sessionGeneration: integer('session_generation').notNull().default(0),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    deletedAt: instant('deleted_at'),
  },
  (t) => [
    unique('user_account_username_key').on(t.usernameKey),
    check('user_account_role', sql`${t.role} in ('admin', 'user', 'view-only')`),
  ],
);

/** Sessions that were ended by a logout before they expired. */
export const endedSession = pgTable(
  'ended_session',
  {
    id: uuid('id').primaryKey(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('ended_session_expires_at').on(t.expiresAt)],
);

export const apiKey = pgTable(
  'api_key',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    userId: uuid('user_id')
      .notNull()
      .references(() => userAccount.id),
    name: text('name').notNull(),
    /** SHA-256 of the key; the key itself is nowhere. */
    keyHash: bytes('key_hash').notNull(),
    keyPrefix: text('key_prefix').notNull(),
    createdAt: createdAt(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [unique('api_key_key_hash').on(t.keyHash), index('api_key_user_id').on(t.userId)],
);

export const team = pgTable(
  'team',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    name: text('name').notNull(),
    /** Who knows it may join; null once the team is deleted. */
    accessCode: text('access_code'),
    logoUrl: text('logo_url'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    deletedAt: instant('deleted_at'),
  },
  (t) => [unique('team_access_code').on(t.accessCode)],
);

export const teamUser = pgTable(
  'team_user',
  {
    teamId: uuid('team_id')
      .notNull()
      .references(() => team.id),
    userId: uuid('user_id')
      .notNull()
      .references(() => userAccount.id),
    role: text('role').$type<TeamRole>().notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    primaryKey({ name: 'team_user_pkey', columns: [t.teamId, t.userId] }),
    index('team_user_user_id').on(t.userId),
    check('team_user_role', sql`${t.role} in ('team-owner', 'team-manager', 'team-member', 'team-view-only')`),
  ],
);

/** One website. Deletion leaves the row as a tombstone: its id is reserved for ever, its share id is free again. */
export const website = pgTable(
  'website',
  {
    id: uuid('id').notNull().defaultRandom(),
    name: text('name').notNull(),
    domain: text('domain').notNull(),
    shareId: text('share_id'),
    /** A website belongs either to a team or to an account. */
    teamId: uuid('team_id').references(() => team.id),
    userId: uuid('user_id').references(() => userAccount.id),
    createdBy: uuid('created_by')
      .notNull()
      .references(() => userAccount.id),
    region: text('region').notNull(),
    /** Only the fields that were ever set. */
    replayConfig: json('replay_config').$type<Partial<ReplayConfig>>().notNull().default({}),
    resetAt: instant('reset_at'),
    /** The last reset, for as long as events that it takes away may still be in the region's store. */
    pendingResetAt: instant('pending_reset_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    deletedAt: instant('deleted_at'),
    /** When the events of a deleted website were gone from its region's store. */
    purgedAt: instant('purged_at'),
  },
  (t) => [
    primaryKey({ name: 'website_pkey', columns: [t.id] }),
    unique('website_share_id').on(t.shareId),
    index('website_user_id').on(t.userId).where(sql`${t.deletedAt} is null`),
    index('website_team_id').on(t.teamId).where(sql`${t.deletedAt} is null`),
    index('website_unpurged').on(t.region).where(sql`${t.deletedAt} is not null and ${t.purgedAt} is null`),
    index('website_pending_reset').on(t.region).where(sql`${t.pendingResetAt} is not null`),
    check('website_one_owner', sql`num_nonnulls(${t.teamId}, ${t.userId}) = 1`),
  ],
);

/** A stored selection of a website's events, or of its visitors. */
export const segment = pgTable(
  'segment',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    websiteId: uuid('website_id')
      .notNull()
      .references(() => website.id),
    type: text('type').$type<SegmentType>().notNull(),
    name: text('name').notNull(),
    parameters: json('parameters').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index('segment_website_id').on(t.websiteId, t.type),
    check('segment_type', sql`${t.type} in ('segment', 'cohort')`),
  ],
);

/**
 * A public link to a website's statistics. `website.share_id` is the slug of the newest one, or null where there is
 * none: the trigger `keep_shares` makes and removes links as it changes.
 */
export const share = pgTable(
  'share',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    websiteId: uuid('website_id')
      .notNull()
      .references(() => website.id),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    /** Which parts of the statistics the link shows, as its maker wrote it. */
    parameters: json('parameters').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [unique('share_slug').on(t.slug), index('share_website_id').on(t.websiteId, t.createdAt)],
);

/**
 * Who changed what. Rows are only ever added, which the trigger `append_only` enforces; nothing refers to them and they
 * to nothing.
 */
export const auditEntry = pgTable(
  'audit_entry',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull().default(sql`now()`),
    /** Null for the operator's command line and for the service itself. */
    actorUserId: uuid('actor_user_id'),
    actorName: text('actor_name').notNull(),
    actorKeyId: uuid('actor_key_id'),
    requestId: text('request_id'),
    action: text('action').$type<AuditAction>().notNull(),
    subjectId: text('subject_id').notNull(),
    details: json('details').notNull(),
  },
  (t) => [
    index('audit_entry_subject_id').on(t.subjectId, t.id),
    index('audit_entry_actor_user_id').on(t.actorUserId, t.id),
  ],
);
