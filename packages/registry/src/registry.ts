import { sql } from 'drizzle-orm';
import { type AccessSubject, createAccessCache, subject } from './access-cache.ts';
import { followAccessChanges } from './access-changes.ts';
import { createApiKey, deleteApiKey, findCallerByKeyHash, listApiKeys, touchApiKey } from './api-keys.ts';
import { listAuditEntries } from './audit.ts';
import { type Database, openDatabase } from './database.ts';
import { RegistryError, toRegistryError } from './registry-error.ts';
import { createReading } from './replica.ts';
import type { Website } from './rows.ts';
import { createSegment, deleteSegment, findSegment, listSegments, updateSegment } from './segments.ts';
import { endSession, findSessionUser } from './sessions.ts';
import { createShare, deleteShare, findShare, findShareBySlug, listShares, updateShare } from './shares.ts';
import {
  addTeamMember,
  findTeamMember,
  joinTeam,
  listTeamMembers,
  removeTeamMember,
  updateTeamMember,
} from './team-members.ts';
import {
  createTeam,
  deleteTeam,
  findTeam,
  findTeamByAccessCode,
  findTeamRole,
  listTeams,
  listTeamsOfUser,
  updateTeam,
} from './teams.ts';
import {
  countUsers,
  createUser,
  deleteUser,
  findUserById,
  findUserByUsername,
  listUsers,
  updateUser,
} from './users.ts';
import {
  createWebsite,
  deleteWebsite,
  findWebsite,
  findWebsiteStatus,
  findWebsiteStatuses,
  listPendingResets,
  listUnpurgedWebsites,
  listWebsites,
  markWebsitePurged,
  markWebsiteReset,
  resetWebsite,
  transferWebsite,
  updateWebsite,
} from './websites.ts';

export type Registry = ReturnType<typeof createRegistry>;

type RegistryOptions = {
  /** Connections at most; 10 unless given. */
  poolMax?: number;
  /** How long a caller waits for an answer before it is told `unavailable`; 5,000 unless given. */
  timeoutMs?: number;
  /** A read replica of the same database: what changes nothing is asked of it while the primary is away. */
  replicaUrl?: string | undefined;
};

/**
 * Accounts, keys, teams, websites and their segments in Postgres. `databaseUrl` is postgres://..., its schema made by
 * `migrate`. Connects at the first question. Everything rejects with `RegistryError` and nothing else.
 *
 * Whoever changes something says who he is (`by`): it is written to the audit log with the change itself.
 *
 * Who may do what (`findSessionUser`, `findCallerByKeyHash`, `findTeamRole`, `findWebsite`) is remembered: what this
 * process changes counts with its next question, what others change within two seconds and mostly at once.
 */
export function createRegistry(
  databaseUrl: string,
  { poolMax = 10, timeoutMs = 5000, replicaUrl }: RegistryOptions = {},
) {
  const primary = openDatabase(databaseUrl, { poolMax, timeoutMs });
  const replica = replicaUrl === undefined ? null : openDatabase(replicaUrl, { poolMax, timeoutMs });
  const run = <Result>(db: Database, ask: (db: Database) => Promise<Result>): Promise<Result> =>
    answerWithin(timeoutMs, () => ask(db));

  const bound =
    <Args extends unknown[], Result>(ask: (db: Database, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      run(primary.db, (db) => ask(db, ...args));

  const sendBeat = bound(sendAccessBeat);
  const { remember, changing, ...access } = createAccessCache((handlers) =>
    followAccessChanges(databaseUrl, { ...handlers, sendBeat }),
  );
  const { reading, close: closeReading } = createReading(
    { primary: primary.db, replica: replica?.db ?? null },
    // What a replica says is never remembered.
    { run, ping, onAnswer: access.forgetAll },
  );

  return {
    createUser: bound(createUser),
    findUserByUsername: reading(findUserByUsername),
    findUserById: reading(findUserById),
    updateUser: changing('user', bound(updateUser)),
    deleteUser: changing('user', bound(deleteUser)),
    countUsers: reading(countUsers),
    listUsers: reading(listUsers),
    findSessionUser: remember(
      reading(findSessionUser),
      ({ id, userId, generation }) => `${id} ${userId} ${generation}`,
      (user, { id }) => user && [subject('user', user.id), subject('session', id)],
    ),
    endSession: changing('session', bound(endSession)),
    createApiKey: bound(createApiKey),
    listApiKeys: reading(listApiKeys),
    deleteApiKey: changing('user', bound(deleteApiKey)),
    findCallerByKeyHash: remember(
      reading(findCallerByKeyHash),
      (keyHash) => keyHash.toString('base64'),
      (caller) => caller && [subject('user', caller.user.id)],
    ),
    touchApiKey: bound(touchApiKey),
    createTeam: bound(createTeam),
    findTeam: reading(findTeam),
    findTeamByAccessCode: reading(findTeamByAccessCode),
    updateTeam: bound(updateTeam),
    deleteTeam: changing('team', bound(deleteTeam)),
    listTeams: reading(listTeams),
    listTeamsOfUser: reading(listTeamsOfUser),
    findTeamRole: remember(
      reading(findTeamRole),
      (teamId, userId) => `${teamId} ${userId}`,
      (role, teamId) => role && [subject('team', teamId)],
    ),
    joinTeam: changing('team', bound(joinTeam)),
    addTeamMember: changing('team', bound(addTeamMember)),
    findTeamMember: reading(findTeamMember),
    listTeamMembers: reading(listTeamMembers),
    updateTeamMember: changing('team', bound(updateTeamMember)),
    removeTeamMember: changing('team', bound(removeTeamMember)),
    createWebsite: bound(createWebsite),
    findWebsite: remember(
      reading(findWebsite),
      (id) => id,
      (website) => website && subjectsOfWebsite(website),
    ),
    findWebsiteStatus: reading(findWebsiteStatus),
    findWebsiteStatuses: reading(findWebsiteStatuses),
    listWebsites: reading(listWebsites),
    updateWebsite: changing('website', bound(updateWebsite)),
    transferWebsite: changing('website', bound(transferWebsite)),
    deleteWebsite: changing('website', bound(deleteWebsite)),
    resetWebsite: changing('website', bound(resetWebsite)),
    listUnpurgedWebsites: reading(listUnpurgedWebsites),
    markWebsitePurged: changing('website', bound(markWebsitePurged)),
    listPendingResets: reading(listPendingResets),
    markWebsiteReset: changing('website', bound(markWebsiteReset)),
    createSegment: bound(createSegment),
    findSegment: reading(findSegment),
    listSegments: reading(listSegments),
    updateSegment: bound(updateSegment),
    deleteSegment: bound(deleteSegment),
    createShare: changing('website', bound(createShare)),
    findShare: remember(
      reading(findShare),
      (id) => id,
      (share) => share && [subject('website', share.websiteId)],
    ),
    findShareBySlug: remember(
      reading(findShareBySlug),
      (slug) => slug,
      (share) => share && [subject('website', share.websiteId)],
    ),
    listShares: reading(listShares),
    updateShare: changing('website', bound(updateShare)),
    deleteShare: changing('website', bound(deleteShare)),
    listAuditEntries: reading(listAuditEntries),
    /** Resolves when Postgres answers. */
    ping: reading(ping),
    close: async (): Promise<void> => {
      closeReading();
      await Promise.all([access.close(), primary.close(), replica?.close()]);
    },
  };
}

/** A website goes with its account or its team, and shows its account's name. */
function subjectsOfWebsite({ id, owner, teamId }: Website): AccessSubject[] {
  return [subject('website', id), subject('user', owner.id), ...(teamId ? [subject('team', teamId)] : [])];
}

async function ping(db: Database): Promise<void> {
  await db.execute(sql`select 1`);
}

async function sendAccessBeat(db: Database, beat: string): Promise<void> {
  await db.execute(sql`select access_beat(${beat})`);
}

/** One limit for waiting for a connection, for the query and for a server that says nothing. */
async function answerWithin<Result>(timeoutMs: number, ask: () => Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new RegistryError('unavailable', 'The registry did not answer in time')),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([ask(), tooLate]);
  } catch (error) {
    throw toRegistryError(error);
  } finally {
    clearTimeout(timer);
  }
}
