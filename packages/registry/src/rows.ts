/** What the registry hands out and takes. Instants are `Date` in milliseconds; ids are lower-case UUIDs. */

export type AccountRole = 'admin' | 'user' | 'view-only';
export type TeamRole = 'team-owner' | 'team-manager' | 'team-member' | 'team-view-only';

export type User = {
  id: string;
  username: string;
  role: AccountRole;
  /** Region that serves the user's keys when an address names none. */
  homeRegion: string;
  createdAt: Date;
  updatedAt: Date;
};

/** A user with what a login needs; never sent anywhere. */
export type UserCredentials = User & {
  passwordHash: string;
  /** Number of password changes so far; a session of another generation has ended. */
  sessionGeneration: number;
};

export type NewUser = {
  id?: string | undefined;
  username: string;
  passwordHash: string;
  role: AccountRole;
  homeRegion: string;
};

/** Fields to change; what is left out stays. A new `passwordHash` ends the user's sessions. */
export type UserChanges = {
  username?: string | undefined;
  passwordHash?: string | undefined;
  role?: AccountRole | undefined;
};

export type ApiKey = {
  id: string;
  userId: string;
  name: string;
  /** The first characters of the key, to recognise it by. */
  keyPrefix: string;
  createdAt: Date;
  lastUsedAt: Date | null;
};

export type NewApiKey = {
  userId: string;
  name: string;
  /** SHA-256 of the whole key. */
  keyHash: Buffer;
  keyPrefix: string;
};

/** A team as one of its members sees it. */
export type TeamMembership = {
  id: string;
  name: string;
  logoUrl: string | null;
  role: TeamRole;
};

export type Team = {
  id: string;
  name: string;
  /** Who knows it may join. */
  accessCode: string;
  logoUrl: string | null;
  createdAt: Date;
  updatedAt: Date;
};

/** A team beside the role that the account which is asked about has in it; null for none. */
export type TeamWithRole = Team & { role: TeamRole | null };

/** `accessCode`: that of no other team. The owner is the first member. */
export type NewTeam = { name: string; accessCode: string; ownerId: string };

/** Fields to change; what is left out stays. */
export type TeamChanges = { name?: string | undefined; accessCode?: string | undefined };

export type TeamOrder = 'name' | 'createdAt' | 'updatedAt';

export type TeamListRequest = PageRequest & {
  /** Only teams of which this account is a member; null: all teams. */
  memberId: string | null;
  orderBy: TeamOrder;
  descending?: boolean | undefined;
};

export type TeamMember = {
  /** Of the membership. */
  id: string;
  teamId: string;
  userId: string;
  username: string;
  role: TeamRole;
  createdAt: Date;
  updatedAt: Date;
};

export type ReplayConfig = {
  replayEnabled: boolean;
  heatmapEnabled: boolean;
  /** Share of sessions, 0 to 1. */
  sampleRate: number;
  heatmapSampleRate: number;
  maskLevel: 'strict' | 'moderate' | 'none';
  blockSelector: string;
  /** Seconds; 0 = no limit. */
  maxDuration: number;
};

export type Website = {
  id: string;
  name: string;
  domain: string;
  shareId: string | null;
  /** Either the team or the user owns the website; the other is null. */
  teamId: string | null;
  userId: string | null;
  createdBy: string;
  region: string;
  replayConfig: ReplayConfig;
  resetAt: Date | null;
  /** The last reset, for as long as events that it takes away may still be stored: answers must leave them out. */
  pendingResetAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  /** The owning user, or the creator of a team's website. */
  owner: { id: string; username: string };
};

export type NewWebsite = {
  id?: string | undefined;
  name: string;
  domain: string;
  shareId?: string | null | undefined;
  teamId?: string | null | undefined;
  userId?: string | null | undefined;
  createdBy: string;
  region: string;
};

/**
 * Fields to change; what is left out stays. `replayConfig` is merged field by field; null resets it to its defaults.
 */
export type WebsiteChanges = {
  name?: string | undefined;
  domain?: string | undefined;
  shareId?: string | null | undefined;
  replayConfig?: { [Field in keyof ReplayConfig]?: ReplayConfig[Field] | undefined } | null | undefined;
};

/** Where events of a website are stored. */
export type WebsitePlace = { id: string; region: string };

/** Who gets a website: an account or a team. */
export type WebsiteTarget = { userId: string } | { teamId: string };

/** What collection and the worker need to know of a website. */
export type WebsiteStatus = {
  region: string;
  /** Events collected before this instant no longer count. */
  resetAt: Date | null;
  /** True for ever once the website was deleted: its id takes no events and is never given again. */
  deleted: boolean;
};

export type WebsiteOrder = 'name' | 'domain' | 'createdAt' | 'updatedAt';

/** One page of a list; `count` is the number of all that match, at most `maxResults`. */
export type Page<Row> = { rows: Row[]; count: number };

export type PageRequest = {
  /** From 1. */
  page: number;
  pageSize: number;
  /** Upper bound of what all pages together may hold. */
  maxResults?: number | undefined;
  /** Part of a name, in any letter case; no character in it means anything but itself. */
  search?: string | undefined;
};

/** Of whom a list shows websites: of an account and of teams, or of everybody. */
export type WebsiteOwners = { userId?: string | undefined; teamIds?: string[] | undefined } | 'everybody';

export type WebsiteListRequest = PageRequest & {
  of: WebsiteOwners;
  /** Only websites stored in this region. */
  region: string;
  orderBy: WebsiteOrder;
  descending?: boolean | undefined;
};

export type SegmentType = 'segment' | 'cohort';

export type SegmentFields = {
  type: SegmentType;
  name: string;
  /** Kept as given; what they mean is the reader's to know. */
  parameters: Record<string, unknown>;
};

export type Segment = SegmentFields & { id: string; websiteId: string; createdAt: Date; updatedAt: Date };

export type SegmentListRequest = PageRequest & { websiteId: string; type: SegmentType };

export type ShareFields = {
  name: string;
  /** What the link ends in; no other link has it. */
  slug: string;
  /** Kept as given; what they mean is the reader's to know. */
  parameters: Record<string, unknown>;
};

/** A public link to a website's statistics. */
export type Share = ShareFields & { id: string; websiteId: string; createdAt: Date; updatedAt: Date };

/** Fields to change; what is left out stays. */
export type ShareChanges = { [Field in keyof ShareFields]?: ShareFields[Field] | undefined };

export type ShareListRequest = PageRequest & { websiteId: string };

/**
 * Who changes something: an account, by a session or a key, or what has no account (`userId` null): the operator, the
 * service itself.
 */
export type Actor = {
  userId: string | null;
  /** The account's name at that time, or what acted in its stead. */
  name: string;
  keyId: string | null;
  requestId: string | null;
};

export type AuditAction =
  | 'user.create'
  | 'user.update'
  | 'user.delete'
  | 'api-key.create'
  | 'api-key.delete'
  | 'team.create'
  | 'team.update'
  | 'team.delete'
  | 'team.join'
  | 'team.member-add'
  | 'team.member-update'
  | 'team.member-remove'
  | 'website.create'
  | 'website.update'
  | 'website.delete'
  | 'website.reset'
  | 'website.transfer'
  | 'share.create'
  | 'share.update'
  | 'share.delete'
  | 'segment.create'
  | 'segment.update'
  | 'segment.delete';

export type AuditEntry = {
  /** Rises with every entry. */
  id: number;
  at: Date;
  actor: Actor;
  action: AuditAction;
  /** Id of the user, key, team, website, share or segment. */
  subjectId: string;
  /** What is worth knowing beside it, such as the new values; never a secret. */
  details: Record<string, unknown>;
};

export type AuditRequest = PageRequest & {
  actorUserId?: string | undefined;
  /** As the entry has it, exactly. */
  actorName?: string | undefined;
  subjectId?: string | undefined;
  /** Exactly. */
  action?: string | undefined;
  from?: Date | undefined;
  /** The first instant that is not meant. */
  to?: Date | undefined;
};
