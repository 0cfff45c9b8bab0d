import { sql } from 'drizzle-orm';
import { createApiKey, deleteApiKey, findCallerByKeyHash, listApiKeys, touchApiKey } from './api-keys.ts';
import { type Database, openDatabase } from './database.ts';
import { RegistryError, toRegistryError } from './registry-error.ts';
import { createSegment, deleteSegment, findSegment, listSegments, updateSegment } from './segments.ts';
import { endSession, findSessionUser } from './sessions.ts';
import { findTeamRole, listTeamsOfUser } from './teams.ts';
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
  findWebsiteRoute,
  findWebsiteRoutes,
  listPendingResets,
  listUnpurgedWebsites,
  listWebsites,
  markWebsitePurged,
  markWebsiteReset,
  resetWebsite,
  updateWebsite,
} from './websites.ts';

export type Registry = ReturnType<typeof createRegistry>;

export type RegistryOptions = {
  /** Connections at most; 10 unless given. */
  poolMax?: number;
  /** How long a caller waits for an answer before it is told `unavailable`; 5,000 unless given. */
  timeoutMs?: number;
};

/**
 * Accounts, keys, teams, websites and their segments in Postgres. `databaseUrl` is postgres://..., its schema made by `migrate`.
 * Connects at the first question. Everything rejects with `RegistryError` and nothing else.
 */
export function createRegistry(databaseUrl: string, { poolMax = 10, timeoutMs = 5000 }: RegistryOptions = {}) {
  const { db, close } = openDatabase(databaseUrl, { poolMax, timeoutMs });

  const bound =
    <Args extends unknown[], Result>(ask: (db: Database, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      answerWithin(timeoutMs, () => ask(db, ...args));

  return {
    createUser: bound(createUser),
    findUserByUsername: bound(findUserByUsername),
    findUserById: bound(findUserById),
    updateUser: bound(updateUser),
    deleteUser: bound(deleteUser),
    countUsers: bound(countUsers),
    listUsers: bound(listUsers),
    findSessionUser: bound(findSessionUser),
    endSession: bound(endSession),
    createApiKey: bound(createApiKey),
    listApiKeys: bound(listApiKeys),
    deleteApiKey: bound(deleteApiKey),
    findCallerByKeyHash: bound(findCallerByKeyHash),
    touchApiKey: bound(touchApiKey),
    listTeamsOfUser: bound(listTeamsOfUser),
    findTeamRole: bound(findTeamRole),
    createWebsite: bound(createWebsite),
    findWebsite: bound(findWebsite),
    findWebsiteRoute: bound(findWebsiteRoute),
    findWebsiteRoutes: bound(findWebsiteRoutes),
    listWebsites: bound(listWebsites),
    updateWebsite: bound(updateWebsite),
    deleteWebsite: bound(deleteWebsite),
    resetWebsite: bound(resetWebsite),
    listUnpurgedWebsites: bound(listUnpurgedWebsites),
    markWebsitePurged: bound(markWebsitePurged),
    listPendingResets: bound(listPendingResets),
    markWebsiteReset: bound(markWebsiteReset),
    createSegment: bound(createSegment),
    findSegment: bound(findSegment),
    listSegments: bound(listSegments),
    updateSegment: bound(updateSegment),
    deleteSegment: bound(deleteSegment),
    /** Resolves when Postgres answers. */
    ping: bound(ping),
    close,
  };
}

async function ping(db: Database): Promise<void> {
  await db.execute(sql`select 1`);
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
