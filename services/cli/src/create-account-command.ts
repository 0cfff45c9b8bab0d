import { CreateUserBody } from '@meridian/contract/accounts';
import { hashPassword, newPassword } from '@meridian/registry/credentials';
import type { Registry } from '@meridian/registry/registry';
import { checkOptions, parseOptions, regionAmong } from './arguments.ts';
import { operator } from './operator.ts';
import { type Print, printable, toPrintableJson } from './print.ts';

type CreateAccountDeps = {
  registry: Pick<Registry, 'createUser'>;
  /** All that are known. */
  regions: readonly string[];
  /** The account's home unless told otherwise; may throw when it is none that can be told. */
  region: () => string;
  /** All of standard input. */
  readInput: () => Promise<string>;
};

/** `meridian create-account …`; gives the exit code. A password that is made here is shown this once. */
export async function runCreateAccount(deps: CreateAccountDeps, args: string[], print: Print): Promise<number> {
  const given = parseOptions(args, ['username', 'role', 'home-region'], ['password-stdin', 'json']);
  const generated = given['password-stdin'] ? undefined : newPassword();
  const { username, role, password, homeRegion } = checkOptions(
    CreateUserBody.extend({ homeRegion: regionAmong(deps.regions) }),
    {
      username: given.username,
      role: given.role ?? 'user',
      homeRegion: given['home-region'] ?? deps.region(),
      password: generated ?? (await deps.readInput()).replace(/\r?\n$/, ''),
    },
  );
  const created = await deps.registry.createUser(
    { username, role, homeRegion, passwordHash: await hashPassword(password) },
    operator,
  );
  if (!created.ok) {
    print(`There is an account ${printable(username)} already`);
    return 1;
  }
  const { id, createdAt } = created.user;
  if (given.json) {
    const account = { id, username, role, homeRegion, createdAt: createdAt.toISOString() };
    print(toPrintableJson(generated === undefined ? account : { ...account, password: generated }));
    return 0;
  }
  print(`Account ${printable(username)} (${role}, home region ${homeRegion}) created: ${id}`);
  if (generated !== undefined) print(`Its password, shown this once: ${generated}`);
  return 0;
}
