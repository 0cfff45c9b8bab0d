import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import { repeatRemovals } from './repeat-removals.ts';
import { restoreSnapshot, snapshotTables, takeSnapshot } from './snapshot.ts';

type TestRegistry = Awaited<ReturnType<typeof createTestRegistry>>;

const takenAt = new Date('2026-06-10T12:00:00Z');
let source: TestRegistry;
let snapshot: string;
let atThatMoment: Record<string, string[]>;
const opened: TestRegistry[] = [];

async function newRegistry(): Promise<TestRegistry> {
  const registry = await createTestRegistry(await createPostgresDatabase());
  opened.push(registry);
  return registry;
}

async function contentOf({ sql }: TestRegistry): Promise<Record<string, string[]>> {
  const content: Record<string, string[]> = {};
  for (const table of snapshotTables)
    content[table] = (await sql(`SELECT row_to_json(t)::text AS row FROM ${table} t ORDER BY 1`)).map((r) =>
      String(r.row),
    );
  return content;
}

async function take({ url }: TestRegistry, whenBegun = async () => {}): Promise<string> {
  let text = '';
  await takeSnapshot(url, takenAt, async (pieces) => {
    for await (const piece of pieces) {
      if (text === '') await whenBegun();
      text += piece;
    }
  });
  return text;
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
}

const restore = ({ url }: TestRegistry, text: string, options = {}) => restoreSnapshot(url, bytesOf(text), options);

beforeAll(async () => {
  source = await newRegistry();
  const { registry, newUser, newTeam, newWebsite, sql } = source;
  const ada = await newUser({ username: 'Ada “\\"\u2028\u{1f600}\'' });
  const eva = await newUser();
  await registry.createApiKey(
    { userId: ada.id, name: 'key', keyHash: Buffer.from([0, 255, 10, 13]), keyPrefix: 'mrd_' },
    testActor,
  );
  const teamId = await newTeam([
    [ada, 'team-owner'],
    [eva, 'team-member'],
  ]);
  const shop = await newWebsite(ada, { shareId: 'slug-of-shop' });
  await registry.createShare(
    shop.id,
    { name: 'Board', slug: 'another', parameters: { a: [1.5, '\u2029', null] } },
    testActor,
  );
  await newWebsite(ada, { teamId });
  await registry.resetWebsite(shop.id, new Date('2026-06-01T00:00:00Z'), testActor);
  await registry.markWebsiteReset(shop.id, new Date('2026-06-01T00:00:00Z'));
  const gone = await newWebsite(eva, { id: '019a0000-0000-7000-8000-00000000dead' });
  await registry.deleteWebsite(gone.id, testActor);
  await registry.markWebsitePurged(gone.id);
  await sql(`INSERT INTO segment (website_id, type, name, parameters) VALUES ($1, 'segment', 'S', '{"x": 1.10}')`, [
    shop.id,
  ]);
  await sql(`INSERT INTO ended_session VALUES (gen_random_uuid(), now())`);
  await sql(
    `INSERT INTO audit_entry (actor_name, action, subject_id, details) SELECT 'many', 'website.update', n::text, '{}' FROM generate_series(1, 2500) n`,
  );
  atThatMoment = await contentOf(source);
  snapshot = await take(source, async () => {
    await newUser();
    await registry.deleteWebsite(shop.id, testActor);
  });
});
afterAll(async () => {
  for (const registry of opened) await registry.close();
});

test('every table is in a snapshot', async () => {
  const found = await source.sql(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
  );
  expect(found.map(({ name }) => name).sort()).toEqual(snapshotTables.toSorted());
  for (const table of snapshotTables) expect(atThatMoment[table]?.length, table).toBeGreaterThan(0);
});

test('a snapshot holds one moment, though others write meanwhile, and is restored to the letter; removals are ordered again', async () => {
  const target = await newRegistry();
  const head = await restore(target, snapshot);
  expect(head).toMatchObject({ takenAt: takenAt.toISOString(), tables: { user_account: 2, website: 3 } });
  const restored = await contentOf(target);
  const asTaken = (rows: string[] | undefined) =>
    rows?.map((row) => ({ ...JSON.parse(row), purged_at: null, pending_reset_at: null }));
  expect(asTaken(restored.website)).toEqual(asTaken(atThatMoment.website));
  expect({ ...restored, website: [] }).toEqual({ ...atThatMoment, website: [] });
  expect(await target.registry.listUnpurgedWebsites('us')).toEqual(['019a0000-0000-7000-8000-00000000dead']);
  expect(await target.registry.listPendingResets('us')).toMatchObject([{ before: new Date('2026-06-01T00:00:00Z') }]);
});

test('a restored registry goes on: new audit entries follow, the log stays append-only, a share id makes a link, a deleted id stays taken', async () => {
  const target = await newRegistry();
  await restore(target, snapshot);
  const user = await target.newUser();
  const [{ last, rows } = {}] = await target.sql('SELECT max(id) AS last, count(*) AS rows FROM audit_entry');
  expect(Number(rows)).toBe((atThatMoment.audit_entry?.length ?? 0) + 1);
  expect(Number(last)).toBeGreaterThanOrEqual(Number(rows));
  await expect(target.sql('DELETE FROM audit_entry')).rejects.toThrow('append-only');
  const website = await target.newWebsite(user, { shareId: 'new-slug' });
  expect(await target.registry.findShareBySlug('new-slug')).toMatchObject({ websiteId: website.id });
  await expect(target.newWebsite(user, { id: '019a0000-0000-7000-8000-00000000dead' })).rejects.toThrow(
    'website_id_taken',
  );
});

test('what is cut off or altered is refused, and nothing of it is written', async () => {
  const target = await newRegistry();
  const lines = snapshot.split('\n');
  const withLine = (i: number, line: string) => lines.with(i, line).join('\n');
  const damaged = [
    '',
    'no backup at all\n',
    snapshot.slice(0, snapshot.length / 2),
    snapshot.slice(0, -1),
    `${lines.slice(0, -2).join('\n')}\n`,
    `${lines.slice(0, 3).join('\n')}\n`,
    `${snapshot}more\n`,
    withLine(1, (lines[1] ?? '').replace('"role":"user"', '"role":"admin"')),
    withLine(1, (lines[1] ?? '').replace('"role":"user"', '"role":"king"')),
    withLine(1, lines[2] ?? ''),
    withLine(1, '{"user_account":{"id"}}'),
    withLine(0, (lines[0] ?? '').replace('"user_account":2', '"user_account":1')),
    withLine(0, (lines[0] ?? '').replace('"user_account"', '"pg_authid"')),
    withLine(0, (lines[0] ?? '').replace('"version":1', '"version":2')),
    lines.toSpliced(5, 1).join('\n'),
  ];
  for (const [i, text] of damaged.entries()) await expect(restore(target, text), `${i}`).rejects.toThrow(/backup/);
  for (const rows of Object.values(await contentOf(target))) expect(rows).toEqual([]);
  const [{ enabled } = {}] = await target.sql(
    `SELECT tgenabled AS enabled FROM pg_trigger WHERE tgname = 'keep_shares'`,
  );
  expect(enabled).toBe('O');
  await restore(target, snapshot, { dryRun: true });
  expect((await contentOf(target)).user_account).toEqual([]);
  await restore(target, snapshot); // the same registry still takes it
});

test('a registry that holds anything, or has another schema, is left alone', async () => {
  const filled = await newRegistry();
  const user = await filled.newUser();
  await expect(restore(filled, snapshot)).rejects.toThrow('not empty (user_account, audit_entry)');
  expect((await contentOf(filled)).user_account).toEqual([expect.stringContaining(user.id)]);

  const empty = await createPostgresDatabase();
  await expect(restoreSnapshot(empty.url, bytesOf(snapshot))).rejects.toThrow('Run: meridian migrate');
  await expect(takeSnapshot(empty.url, takenAt, async () => {})).rejects.toThrow('no tables yet');
  await empty.drop();

  const target = await newRegistry();
  for (const [schema, whose] of [
    ['0003_access_changes', 'earlier'],
    ['9999_from_the_future', 'later'],
  ] as const)
    await expect(restore(target, snapshot.replace(/"schema":"[^"]+"/, `"schema":"${schema}"`))).rejects.toThrow(whose);
  await target.sql('INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ($1, 4102444800000)', ['later']);
  await expect(restore(target, snapshot)).rejects.toThrow('later version');
  await expect(take(target)).rejects.toThrow('later version');
});

test('removals of one region are ordered again where only its other store was restored', async () => {
  const target = await newRegistry();
  await restore(target, snapshot);
  const { registry, url } = target;
  const complete = async () => {
    for (const id of await registry.listUnpurgedWebsites('us')) await registry.markWebsitePurged(id);
    for (const { id, before } of await registry.listPendingResets('us')) await registry.markWebsiteReset(id, before);
  };
  await complete();
  expect(await repeatRemovals(url, 'eu')).toEqual({ purges: 0, resets: 0 });
  expect(await registry.listUnpurgedWebsites('us')).toEqual([]);
  expect(await repeatRemovals(url, 'us')).toEqual({ purges: 1, resets: 1 });
  expect(await registry.listUnpurgedWebsites('us')).toEqual(['019a0000-0000-7000-8000-00000000dead']);
  expect(await registry.listPendingResets('us')).toHaveLength(1);
});

test('what writes the text and fails is heard, and keeps no connection', async () => {
  const failing = takeSnapshot(source.url, takenAt, async () => {
    throw new Error('disk full');
  });
  await expect(failing).rejects.toThrow('disk full');
  const [{ open } = {}] = await source.sql(
    `SELECT count(*) AS open FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
  );
  expect(Number(open)).toBe(0);
});
