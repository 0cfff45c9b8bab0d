import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { hashApiKey, verifyPassword } from '@meridian/registry/credentials';
import { createTestRegistry, testActor } from '@meridian/registry/registry-fixtures';
import { ConfigError } from '@meridian/runtime/config';
import { afterAll, expect, test } from 'vitest';
import { runAudit } from './audit-command.ts';
import { runCreateAccount } from './create-account-command.ts';
import { runCreateKey } from './create-key-command.ts';
import { runCreateWebsite } from './create-website-command.ts';
import { runDeleteAccount } from './delete-account-command.ts';
import { UsageError } from './usage.ts';

const { registry, newTeam, newUser, newWebsite, close } = await createTestRegistry(await createPostgresDatabase());
afterAll(close);

const unique = (prefix: string) => `${prefix}-${randomUUID().slice(0, 8)}`;

const regions = ['us', 'eu'];

/** Runs a command in the region us of an installation that has eu as well, with `input` on standard input. */
async function run([command, ...args]: readonly string[], input = ''): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const commands: Record<string, () => Promise<number>> = {
    'create-account': () =>
      runCreateAccount({ registry, regions, region: () => 'us', readInput: async () => input }, args, print),
    'create-key': () => runCreateKey(registry, args, print),
    'create-website': () => runCreateWebsite({ registry, regions }, args, print),
    'delete-account': () => runDeleteAccount(registry, args, print),
    audit: () => runAudit(registry, args, print),
  };
  const code = (await commands[command ?? '']?.()) ?? Number.NaN;
  return { code, text: lines.join('\n') };
}

async function json<Value>(...args: string[]): Promise<Value> {
  const { code, text } = await run([...args, '--json']);
  expect(code, text).toBe(0);
  return JSON.parse(text);
}

const changes = () => json<unknown[]>('audit', '--limit', '10000');

test('a password can be given on standard input and is printed nowhere; secrets that are made are printed once', async () => {
  const username = unique('grace');
  const args = ['create-account', '--username', username, '--role', 'view-only', '--home-region', 'eu'];
  const given = await run([...args, '--password-stdin'], 'a long password\n');
  expect(given.text).toMatch(new RegExp(`^Account ${username} \\(view-only, home region eu\\) created: \\S{36}$`));
  const stored = await registry.findUserByUsername(username);
  expect(stored).toMatchObject({ role: 'view-only', homeRegion: 'eu' });
  expect(await verifyPassword(stored?.passwordHash, 'a long password')).toBe(true);

  const made = await run(['create-account', '--username', unique('alan')]);
  expect(made.text).toMatch(/\nIts password, shown this once: [A-Za-z0-9]{20}$/);
  const key = await run(['create-key', '--username', username, '--name', 'by hand']);
  expect(key.text).toMatch(new RegExp(`^Key by hand of ${username}, shown this once:\\nmrd_[A-Za-z0-9]{32}$`));
});

test('a website of a team counts as made by its owner, in whose home region it is kept', async () => {
  const [member, owner] = [unique('a-member'), unique('owner')];
  await json('create-account', '--username', member);
  const { id: ownerId } = await json<{ id: string }>('create-account', '--username', owner, '--home-region', 'eu');
  const found = await registry.findUserByUsername(member);
  const teamId = await newTeam([
    [{ id: found?.id ?? '' }, 'team-member'],
    [{ id: ownerId }, 'team-owner'],
  ]);
  const website = await json('create-website', '--team', teamId, '--name', 'Team', '--domain', 'team.example');
  expect(website).toMatchObject({ teamId, userId: null, createdBy: ownerId, region: 'eu' });
});

test('a website is kept in the home region of its account, unless another one is named', async () => {
  const username = unique('ada');
  await json('create-account', '--username', username, '--home-region', 'eu');
  const site = ['create-website', '--username', username, '--name', 'Shop', '--domain', 'shop.example'];
  expect(await json(...site)).toMatchObject({ region: 'eu' });
  expect(await json(...site, '--region', 'us')).toMatchObject({ region: 'us' });
  const { username: stranger } = await newUser({ homeRegion: 'ap' });
  const before = await changes();
  const refused = run(['create-website', '--username', stranger, '--name', 'Shop', '--domain', 'shop.example']);
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(/home region ap .*us, eu/);
  expect(await changes()).toEqual(before);
});

test('a deleted account is gone with its keys and its websites of every region, by the operator', async () => {
  const owner = await newUser();
  const websites = [await newWebsite(owner, { region: 'us' }), await newWebsite(owner, { region: 'eu' })];
  const key = (await run(['create-key', '--username', owner.username, '--name', 'x'])).text.split('\n')[1] ?? '';
  expect(await registry.findCallerByKeyHash(hashApiKey(key))).not.toBeNull();
  const before = await changes();
  const untold = await run(['delete-account', '--username', owner.username]);
  expect(untold).toEqual({ code: 1, text: expect.stringMatching(`${owner.username} .*${owner.id}.*--yes`) });
  expect(await changes()).toEqual(before);

  const places = websites.map(({ id, region }) => ({ id, region }));
  const told = await json<{ websites: unknown[] }>('delete-account', '--username', owner.username, '--yes');
  expect(told).toEqual({ id: owner.id, username: owner.username, websites: expect.arrayContaining(places) });
  expect(told.websites).toHaveLength(2);
  expect(await registry.findUserByUsername(owner.username)).toBeNull();
  expect(await registry.findCallerByKeyHash(hashApiKey(key))).toBeNull();
  for (const { id, region } of places) expect(await registry.listUnpurgedWebsites(region)).toContain(id);
  const [entry] = await json<unknown[]>('audit', '--action', 'user.delete');
  expect(entry).toMatchObject({ userId: null, username: 'operator', subjectId: owner.id });

  const other = await newUser();
  const gone = await run(['delete-account', '--id', other.id.toUpperCase(), '--yes']);
  expect(gone).toEqual({ code: 0, text: `Account ${other.username} (user, home region us, ${other.id}) deleted` });
});

test('an account without which a team or the installation has nobody left to manage it stays', async () => {
  const owner = await newUser();
  const teamId = await newTeam([[owner, 'team-owner']]);
  const { username } = await newUser({ role: 'admin' });
  const before = await changes();
  for (const [args, message] of [
    [['--username', owner.username], teamId],
    [['--username', username], 'the only administrator'],
    [['--username', unique('nobody')], 'There is no account'],
    [['--id', randomUUID()], 'There is no account'],
    [['--id', 'x'], 'There is no account'],
  ] as const) {
    const { code, text } = await run(['delete-account', ...args, '--yes']);
    expect([args, code, text]).toEqual([args, 1, expect.stringContaining(message)]);
  }
  expect(await changes()).toEqual(before);
});

test('who changed what is found by name, by website and by action, under the names that an account had', async () => {
  const username = unique('ada');
  const { id } = await json<{ id: string }>('create-account', '--username', username);
  const site = ['create-website', '--username', username, '--name', 'Shop', '--domain', 'shop.example'];
  const website = await json<{ id: string }>(...site);
  const by = { userId: id, name: username, keyId: null, requestId: 'r-1' };
  await registry.updateWebsite(website.id, { name: 'Shop 2' }, by);
  const renamed = unique('ada');
  await registry.updateUser(id, { username: renamed }, testActor);

  const found = async (...args: string[]) =>
    (await json<{ username: string; action: string }[]>('audit', ...args)).map((entry) => [
      entry.username,
      entry.action,
    ]);
  expect(await found('--website', website.id.toUpperCase())).toEqual([
    [username, 'website.update'],
    ['operator', 'website.create'],
  ]);
  expect(await found('--user', renamed)).toEqual([[username, 'website.update']]);
  expect(await found('--user', username)).toEqual([[username, 'website.update']]);
  expect(await found('--website', website.id, '--action', 'website.create')).toEqual([['operator', 'website.create']]);
  const { text } = await run(['audit', '--website', website.id, '--limit', '1']);
  expect(text).toMatch(/^TIME +BY +ACTION +OF +DETAILS\n\S+Z +\S+ +website\.update +\S+ +.*Shop 2.*\n1 of 2 changes$/);
});

test('what is taken or not there is told, with 1, and nothing is changed', async () => {
  const username = unique('ada');
  const shareId = unique('s');
  await json('create-account', '--username', username);
  const site = ['create-website', '--username', username, '--name', 'Shop', '--domain', 'shop.example'];
  const website = await json<{ id: string }>(...site, '--share-id', shareId);
  const ofNobody = ['create-website', '--username', unique('nobody'), '--name', 'x', '--domain', 'x.example'];
  const ofTeam = (id: string) => ['create-website', '--team', id, '--name', 'x', '--domain', 'x.example'];
  const before = await changes();
  for (const [args, message] of [
    [['create-account', '--username', username.toUpperCase()], 'There is an account'],
    [['create-key', '--username', unique('nobody'), '--name', 'x'], 'There is no account'],
    [ofNobody, 'There is no account'],
    [[...site, '--id', website.id], 'The website ID is in use'],
    [[...site, '--share-id', shareId], 'The share ID is taken'],
    [ofTeam('no-id'), 'There is no team'],
    [ofTeam(randomUUID()), 'There is no team'],
  ] as const) {
    const { code, text } = await run(args);
    expect([args, code, text]).toEqual([args, 1, expect.stringContaining(message)]);
  }
  expect(await changes()).toEqual(before);
});

test('what makes no sense is told by the name of its option, and nothing is changed', async () => {
  const username = unique('ada');
  await json('create-account', '--username', username);
  const site = ['create-website', '--username', username, '--name', 'Shop', '--domain', 'shop.example'];
  const before = await changes();
  for (const [args, message] of [
    [['create-account'], '--username is required'],
    [['create-account', '--username', ' '], '--username: '],
    [['create-account', '--username', 'x', '--role', 'root'], '--role: '],
    [['create-account', '--username', 'x', '--home-region', 'US'], '--home-region: '],
    [['create-account', '--username', 'x', '--home-region', 'mars'], 'us, eu'],
    [['create-account', '--username', 'x', '--password', 'a long password'], '--password'],
    [['create-account', '--username', 'x', '--password-stdin'], '--password: '],
    [['create-key', '--name', 'x'], '--username is required'],
    [['create-key', '--username', username], '--name is required'],
    [['create-website', '--name', 'x', '--domain', 'x.example'], 'Give --username or --team'],
    [[...site, '--team', randomUUID()], 'Give --username or --team'],
    [['create-website', '--username', username, '--name', 'x', '--domain', 'a b'], '--domain: '],
    [[...site, '--id', 'x'], '--id: '],
    [[...site, '--share-id', '../x'], '--share-id: '],
    [[...site, '--region', '../x'], '--region: '],
    [[...site, '--region', 'mars'], 'us, eu'],
    [['delete-account', '--yes'], 'Give --username or --id'],
    [['delete-account', '--username', username, '--id', randomUUID(), '--yes'], 'Give --username or --id'],
    [['audit', '--website', 'x'], '--website'],
    [['audit', '--limit', '0'], '--limit'],
  ] as const) {
    const refused = run(args, 'short');
    await expect(refused, args.join(' ')).rejects.toThrow(UsageError);
    await expect(refused, args.join(' ')).rejects.toThrow(message);
  }
  expect(await changes()).toEqual(before);
});

test('what a terminal would obey is shown as what it is', async () => {
  const username = `${unique('eve')}\x1b[31m\u202e`;
  for (const args of [
    ['create-account', '--username', username],
    ['create-key', '--username', username, '--name', 'red\x1b[0m'],
    ['create-website', '--username', username, '--name', 'Shop\x07\u009b31m', '--domain', 'shop.example'],
    ['audit', '--limit', '3'],
    ['audit', '--limit', '3', '--json'],
    ['delete-account', '--username', username, '--yes'],
  ]) {
    const { code, text } = await run(args);
    expect([args, code]).toEqual([args, 0]);
    expect(text).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  }
});
