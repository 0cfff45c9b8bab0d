import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { fillPlaceholders, migrationNames, splitStatements } from './migrate.ts';

test('a statement ends with a semicolon at the end of its line', () => {
  expect(splitStatements("-- one; two\nSELECT ';' AS a;\n\nSELECT 2;  \n-- nothing follows\n")).toEqual([
    "-- one; two\nSELECT ';' AS a",
    'SELECT 2',
  ]);
});

test('placeholders make plain tables on one node, and replicated ones behind Distributed tables on a cluster', () => {
  const sql =
    'CREATE TABLE {{local:t}} {{on_cluster}} (a UInt8) ENGINE = {{engine:ReplacingMergeTree(version)}} ORDER BY a SETTINGS {{deduplication_window}}';
  expect(fillPlaceholders(sql)).toBe(
    'CREATE TABLE t  (a UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY a SETTINGS non_replicated_deduplication_window = 10000',
  );
  expect(fillPlaceholders(sql, 'main')).toBe(
    "CREATE TABLE t_local ON CLUSTER 'main' (a UInt8) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version) ORDER BY a SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
  );
});

test('every table, view and window of a migration is written for a cluster too', async () => {
  for (const name of await migrationNames()) {
    const sql = await readFile(new URL(`../clickhouse-migrations/${name}`, import.meta.url), 'utf8');
    for (const statement of splitStatements(sql)) {
      const code = statement.replace(/^--.*$/gm, '');
      expect(code).toContain('{{on_cluster}}');
      expect(code).not.toMatch(
        /ENGINE = (?!\{\{)|(?<!\w)(TABLE( IF (NOT )?EXISTS)?|TO|FROM) (?!IF|\{\{|\(|\w+_mv\b)\w+|deduplication_window =/,
      );
    }
  }
});

test('every time names its zone: without it the server’s zone would decide what a day or month is', async () => {
  for (const name of await migrationNames()) {
    const sql = await readFile(new URL(`../clickhouse-migrations/${name}`, import.meta.url), 'utf8');
    for (const [time] of sql.matchAll(/\bDateTime(64)?\b(\([^)]*\))?|\w+ToDateTime(64)?\([^)]*\)/g))
      expect([name, time]).toEqual([name, expect.stringContaining("'UTC')")]);
  }
});

test('migrations are numbered without gaps', async () => {
  const numbers = (await migrationNames()).map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
