import { askOnce } from './ask-once.ts';

/** Accounts and websites that are not deleted, by the region in which they are at home. */
type RegionCounts = Map<string, { accounts: number; websites: number }>;

/** Asks on a connection of its own. @throws RegistryError */
export async function countByRegion(databaseUrl: string): Promise<RegionCounts> {
  const rows = await askOnce(
    databaseUrl,
    `SELECT region, sum(accounts) AS accounts, sum(websites) AS websites FROM (
       SELECT home_region AS region, count(*) AS accounts, 0 AS websites FROM user_account WHERE deleted_at IS NULL GROUP BY 1
       UNION ALL
       SELECT region, 0, count(*) FROM website WHERE deleted_at IS NULL GROUP BY 1
     ) AS counts GROUP BY region ORDER BY region`,
  );
  return new Map(
    rows.map(({ region, accounts, websites }) => [
      String(region),
      { accounts: Number(accounts), websites: Number(websites) },
    ]),
  );
}
