/** A command line that makes no sense; told together with the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Whether the arguments ask for the usage, for whatever command. */
export function isHelp(args: readonly string[]): boolean {
  const [command = 'help'] = args;
  return command === 'help' || args.includes('--help') || args.includes('-h');
}

export const usage = `Usage: meridian <command>

  create-account --username <name> [--role user|view-only|admin] [--home-region eu] [--password-stdin] [--json]
                                            an account; without --password-stdin its password is made and shown this once
  create-key --username <name> --name <name> [--json]
                                            an API key of the account, shown this once
  create-website (--username <name> | --team <id>) --name <name> --domain <host> [--id <id>] [--share-id <text>] [--region eu] [--json]
                                            a website of the account or of the team, in its home region (a team's: its owner's)
  delete-account (--username <name> | --id <id>) --yes [--json]
                                            an account with its keys, its websites and all that they collected, for good;
                                            without --yes it is only told which account that would be
  audit [--website <id>] [--user <name>] [--action website.delete] [--limit 50] [--json]
                                            who changed what, the newest first

  migrate [--dry-run]                       brings Postgres and ClickHouse to this version's schema and sets RETENTION_DAYS;
                                            --dry-run tells what would be done; exit code 1 when that is something

  backup --out <file or folder> [--json]    the registry (accounts, keys, teams, websites, audit log) in a new file;
                                            - writes to standard output. ClickHouse: docs/backup.md
  restore --from <file> [--dry-run] [--json]
                                            puts that into an empty registry of the same schema, all of it or nothing;
                                            - reads standard input; --dry-run tries everything and keeps nothing

  repeat-removals [--json]                  what was deleted or reset in REGION is removed once more by its workers: after its
                                            ClickHouse was restored and the registry was not

  dead-letters list [--limit 50] [--json]   events that could not be stored, the oldest first
  dead-letters show <id>                    one of them, with all its fields
  dead-letters replay <id> | --all          back into the event log, to be stored
  dead-letters drop <id> | --all            given up

  failed-jobs list [--limit 50] [--json]    background jobs that were given up, the latest first
  failed-jobs retry <id> | --all            tried again
  failed-jobs drop <id> | --all             given up for good

  check-rollups [--website <id>] [--from 2026-06-01] [--to 2026-07-01] [--repair] [--json]
                                            compares what answers are made of with the events, of all websites and times
                                            unless told (UTC, --to is the first day that is not looked at); --repair puts
                                            right what differs, but nothing while an event of the log waits for more
                                            than a minute; exit code 1 when something differs and was not put right

  doctor [--url https://…] [--canary [--website <id>]] [--json]
                                            checks stores, settings, counts, clocks and the other regions; exit code 1 when
                                            something is wrong. With --url the services behind it as well; --canary sends
                                            them two events, for a website that is made and deleted or for --website

  regions [--json]                          all regions: whether and how fast they answer, their clocks, accounts, websites;
                                            exit code 1 when one does not answer as itself

Stores: DATABASE_URL, CLICKHOUSE_URL, REDIS_URL; else the ones that npm start runs on DATA_DIR, where it runs several
regions those of REGION.
EVENT_LOG_PARTITIONS, REGION, PEERS, PEER_SECRET, RETENTION_DAYS, CLICKHOUSE_CLUSTER, GEOIP_DB as the services have them.
Exit codes: 0 done; 1 not, or a check says FAIL; 2 the command line or a setting makes no sense.`;
