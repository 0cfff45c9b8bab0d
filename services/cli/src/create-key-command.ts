import { CreateApiKeyBody, type CreatedApiKey } from '@meridian/contract/accounts';
import { apiKeyPrefix, hashApiKey, newApiKey } from '@meridian/registry/credentials';
import type { Registry } from '@meridian/registry/registry';
import { checkOptions, parseOptions, required } from './arguments.ts';
import { operator } from './operator.ts';
import { type Print, printable, toPrintableJson } from './print.ts';

/** `meridian create-key …`: a key of an account, shown this once; gives the exit code. */
export async function runCreateKey(
  registry: Pick<Registry, 'findUserByUsername' | 'createApiKey'>,
  args: string[],
  print: Print,
): Promise<number> {
  const given = parseOptions(args, ['username', 'name'], ['json']);
  const username = required('username', given.username);
  const { name } = checkOptions(CreateApiKeyBody, { name: given.name });
  const user = await registry.findUserByUsername(username);
  if (!user) {
    print(`There is no account ${printable(username)}`);
    return 1;
  }
  const key = newApiKey();
  const { id, keyPrefix, createdAt } = await registry.createApiKey(
    { userId: user.id, name, keyHash: hashApiKey(key), keyPrefix: apiKeyPrefix(key) },
    operator,
  );
  if (given.json) {
    const created = { id, name, keyPrefix, createdAt: createdAt.toISOString(), lastUsedAt: null, key };
    print(toPrintableJson(created satisfies CreatedApiKey));
    return 0;
  }
  print(`Key ${printable(name)} of ${printable(user.username)}, shown this once:`);
  print(key);
  return 0;
}
