import type { Registry } from '@meridian/registry/registry';
import type { DeleteUserResult } from '@meridian/registry/users';
import { parseOptions } from './arguments.ts';
import { operator } from './operator.ts';
import { type Print, printable, toPrintableJson } from './print.ts';
import { UsageError } from './usage.ts';

/**
 * `meridian delete-account …`: an account, its keys, its websites and what they collected; gives the exit code. Its
 * keys end within two seconds in every region.
 * Events are removed by the workers of the regions that hold them: they look for deleted websites every minute.
 */
export async function runDeleteAccount(
  registry: Pick<Registry, 'findUserByUsername' | 'findUserById' | 'deleteUser'>,
  args: string[],
  print: Print,
): Promise<number> {
  const { username, id, yes, json } = parseOptions(args, ['username', 'id'], ['yes', 'json']);
  if ((username === undefined) === (id === undefined)) throw new UsageError('Give --username or --id');
  const user = await (id === undefined ? registry.findUserByUsername(username ?? '') : registry.findUserById(id));
  const missing = `There is no account ${printable(username ?? id ?? '')}`;
  if (!user) {
    print(missing);
    return 1;
  }
  const account = `Account ${printable(user.username)} (${user.role}, home region ${user.homeRegion}, ${user.id})`;
  if (!yes) {
    print(`${account} is not deleted: give --yes as well, and it goes for good, with its websites and their events`);
    return 1;
  }
  const deleted = await registry.deleteUser(user.id, operator);
  if (!deleted.ok) {
    print(obstacleOf(deleted) ?? missing);
    return 1;
  }
  const { websites } = deleted;
  if (json) {
    print(toPrintableJson({ id: user.id, username: user.username, websites }));
    return 0;
  }
  print(`${account} deleted`);
  for (const website of websites)
    print(`Website ${website.id} deleted; the workers of ${website.region} remove its events within minutes`);
  return 0;
}

/** Null: somebody else has deleted the account. */
function obstacleOf(refused: DeleteUserResult & { ok: false }): string | null {
  switch (refused.reason) {
    case 'last_administrator':
      return 'It is the only administrator: make another one first';
    case 'last_owner':
      return `It is the only owner of the teams ${refused.teamIds.join(', ')}: give them another owner or delete them first`;
    case 'user_not_found':
      return null;
  }
}
