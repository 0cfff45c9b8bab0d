import { expect, test } from 'vitest';
import { fillPlaceholders, migrationNames, splitStatements } from './migrate.ts';

test('a statement ends with a semicolon at the end of its line', () => {
  expect(splitStatements("-- one; two\nSELECT ';' AS a;\n\nSELECT 2;  \n-- nothing follows\n")).toEqual([
    "-- one; two\nSELECT ';' AS a",
    'SELECT 2',
  ]);
});

test('placeholders make plain tables on one node and replicated ones on a cluster', () => {
  const sql = 'CREATE TABLE t {{on_cluster}} (a UInt8) ENGINE = {{engine:ReplacingMergeTree(version)}} ORDER BY a';
  expect(fillPlaceholders(sql)).toBe('CREATE TABLE t  (a UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY a');
  expect(fillPlaceholders(sql, 'main')).toBe(
    "CREATE TABLE t ON CLUSTER 'main' (a UInt8) ENGINE = ReplicatedReplacingMergeTree(version) ORDER BY a",
  );
});

test('migrations are numbered without gaps', async () => {
  const numbers = (await migrationNames()).map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
