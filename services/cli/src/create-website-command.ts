import { isUuid } from '@meridian/contract/ids';
import { CreateWebsiteBody } from '@meridian/contract/websites';
import type { Registry } from '@meridian/registry/registry';
import { ConfigError } from '@meridian/runtime/config';
import { checkOptions, parseOptions, regionAmong } from './arguments.ts';
import { operator } from './operator.ts';
import { type Print, printable, toPrintableJson } from './print.ts';
import { UsageError } from './usage.ts';

type CreateWebsiteDeps = {
  registry: Pick<Registry, 'createWebsite' | 'findUserByUsername' | 'findUserById' | 'listTeamMembers'>;
  /** All that are known. */
  regions: readonly string[];
};

const obstacles = {
  website_id_taken: 'The website ID is in use already, or was',
  share_id_taken: 'The share ID is taken already',
  team_not_found: 'There is no such team',
  user_not_found: 'There is no such account any more',
} as const;

/**
 * `meridian create-website …`: a website of an account or of a team, in its owner's home region unless told otherwise;
 * gives the exit code.
 */
export async function runCreateWebsite(deps: CreateWebsiteDeps, args: string[], print: Print): Promise<number> {
  const given = parseOptions(args, ['username', 'team', 'name', 'domain', 'id', 'share-id', 'region'], ['json']);
  if ((given.username === undefined) === (given.team === undefined)) throw new UsageError('Give --username or --team');
  const { id, ...fields } = checkOptions(
    CreateWebsiteBody.omit({ teamId: true }).extend({ region: regionAmong(deps.regions).optional() }),
    {
      name: given.name,
      domain: given.domain,
      id: given.id,
      shareId: given['share-id'],
      region: given.region,
    },
  );
  const owner = await findOwner(deps, given);
  if ('unknown' in owner) {
    print(owner.unknown);
    return 1;
  }
  const { homeRegion, ...of } = owner;
  const region = fields.region ?? homeRegion;
  if (!deps.regions.includes(region))
    throw new ConfigError(
      `The owner's home region ${region} is not known: ${deps.regions.join(', ')} are (REGION, PEERS, as the services have them).`,
    );
  const created = await deps.registry.createWebsite({ ...fields, ...of, region, id: id ?? undefined }, operator);
  if (!created.ok) {
    print(obstacles[created.reason]);
    return 1;
  }
  const { createdAt, name, domain, shareId, teamId, userId, createdBy } = created.website;
  const website = { id: created.website.id, name, domain, shareId, teamId, userId, createdBy, region };
  if (given.json) print(toPrintableJson({ ...website, createdAt: createdAt.toISOString() }));
  else print(`Website ${printable(name)} (${printable(domain)}, region ${region}) created: ${website.id}`);
  return 0;
}

type Owner = { userId: string | null; teamId: string | null; createdBy: string; homeRegion: string };

/** As the website names them; that of a team counts as made by the team's owner. */
async function findOwner(
  { registry }: CreateWebsiteDeps,
  { username, team = '' }: { username?: string | undefined; team?: string | undefined },
): Promise<Owner | { unknown: string }> {
  if (username === undefined) {
    const members = isUuid(team) ? (await registry.listTeamMembers(team, { page: 1, pageSize: 1_000 })).rows : [];
    const member = members.find(({ role }) => role === 'team-owner');
    const owner = member ? await registry.findUserById(member.userId) : null;
    if (!owner) return { unknown: `There is no team ${printable(team)} with an owner` };
    return { userId: null, teamId: team, createdBy: owner.id, homeRegion: owner.homeRegion };
  }
  const user = await registry.findUserByUsername(username);
  if (!user) return { unknown: `There is no account ${printable(username)}` };
  return { userId: user.id, teamId: null, createdBy: user.id, homeRegion: user.homeRegion };
}
