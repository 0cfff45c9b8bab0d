import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from '@meridian/registry/registry';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { operator } from '../operator.ts';
import { type Finding, fail, messageOf, ok, warn } from './finding.ts';

/** For everything but making and deleting the website; less than a check may take. */
const canaryMaxMs = 22_000;
const pauseMs = 50;
const dayMs = 86_400_000;
/** A browser's: crawlers are dropped. */
const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
/** Addresses for documentation: nobody's. */
const madeUpAddresses = ['192.0.2.1', '198.51.100.1'] as const;

type CanaryDeps = {
  registry: Pick<Registry, 'createWebsite' | 'deleteWebsite' | 'listUsers'>;
  warehouse: Pick<Warehouse, 'getStats'>;
  /** Of the installation, without a slash at its end. */
  url: string;
  region: string;
  /** The header in which proxies name the client. */
  addressHeader: string;
  /** Whose events they are; undefined: a website that is made for them and deleted. */
  websiteId: string | undefined;
  now: () => Date;
};

/**
 * Sends two events as a browser does and waits until they are counted; tells whether addresses that this machine made
 * up in the header of proxies were believed, which shows as two visitors. Events of a website that is not `websiteId`
 * are removed by the workers with it.
 */
export async function checkCanary(deps: CanaryDeps): Promise<{ canary: Finding; 'proxy headers'?: Finding }> {
  const { registry, websiteId } = deps;
  if (websiteId !== undefined) return sendCanary(deps, websiteId);
  const made = await makeWebsite(deps);
  if (made === null)
    return { canary: fail('there is no account to make a website for', 'Make one: meridian create-account') };
  try {
    return await sendCanary(deps, made);
  } finally {
    await registry.deleteWebsite(made, operator);
  }
}

async function makeWebsite({ registry, region }: CanaryDeps): Promise<string | null> {
  const { rows } = await registry.listUsers({ page: 1, pageSize: 1_000 });
  const owner = rows.find(({ role }) => role === 'admin') ?? rows[0];
  if (!owner) return null;
  const of = { userId: owner.id, teamId: null, createdBy: owner.id };
  const fields = { name: 'Doctor', domain: 'doctor.invalid', shareId: null, region, ...of };
  const created = await registry.createWebsite(fields, operator);
  return created.ok ? created.website.id : null;
}

async function sendCanary(deps: CanaryDeps, websiteId: string) {
  const path = `/meridian-doctor/${randomUUID()}`;
  const sentAt = deps.now();
  const begunMs = performance.now();
  const signal = AbortSignal.timeout(canaryMaxMs);
  const sessionIds: string[] = [];
  for (const address of madeUpAddresses) {
    const sent = await send(deps, { websiteId, path, address, signal });
    if ('obstacle' in sent) return { canary: fail(sent.obstacle, 'See what collectors log, and their readyz.') };
    sessionIds.push(sent.sessionId);
  }
  const canary = await untilCounted(deps, { websiteId, path, sentAt, begunMs, signal });
  return { canary, 'proxy headers': judgeAddresses(deps.addressHeader, new Set(sessionIds).size > 1) };
}

async function send(
  { url, addressHeader }: CanaryDeps,
  event: { websiteId: string; path: string; address: string; signal: AbortSignal },
): Promise<{ sessionId: string } | { obstacle: string }> {
  const payload = { website: event.websiteId, hostname: 'doctor.invalid', url: event.path };
  try {
    const answer = await fetch(`${url}/api/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': userAgent, [addressHeader]: event.address },
      body: JSON.stringify({ type: 'event', payload }),
      redirect: 'manual',
      signal: event.signal,
    });
    const text = await answer.text();
    if (answer.status !== 200) return { obstacle: `the event is refused: ${answer.status}` };
    const { sessionId, ignored } = JSON.parse(text) as { sessionId?: string; ignored?: string };
    if (sessionId === undefined) return { obstacle: `the event is ignored: ${ignored ?? 'no session in the answer'}` };
    return { sessionId };
  } catch (error) {
    return { obstacle: `${url}/api/send: ${messageOf(error)}` };
  }
}

async function untilCounted(
  { warehouse }: Pick<CanaryDeps, 'warehouse'>,
  event: { websiteId: string; path: string; sentAt: Date; begunMs: number; signal: AbortSignal },
): Promise<Finding> {
  const { websiteId, path, sentAt, begunMs, signal } = event;
  const question = {
    websiteId,
    // Clocks may differ.
    range: { startAt: new Date(sentAt.getTime() - dayMs), endAt: new Date(sentAt.getTime() + dayMs) },
    filters: [{ name: 'path', op: 'eq', values: [path] } as const],
    match: 'all' as const,
    route: 'meridian doctor',
    signal,
  };
  let counted = 0;
  while (!signal.aborted) {
    counted = (await warehouse.getStats(question)).value.pageviews;
    if (counted === madeUpAddresses.length)
      return ok(`two events were queryable ${Math.round(performance.now() - begunMs)} ms after the first was sent`);
    await delay(pauseMs);
  }
  return fail(
    `${counted} of two accepted events are queryable after ${canaryMaxMs / 1_000} s`,
    'See whether workers run and what they log, and whether the address and these stores are of one region.',
  );
}

export function judgeAddresses(header: string, areBelieved: boolean): Finding {
  if (!areBelieved) return ok(`an address that this machine makes up in ${header} is not believed`);
  return warn(
    `an address that this machine makes up in ${header} is believed`,
    'Right if this machine is itself a proxy in TRUSTED_PROXIES. If not, everybody can make up addresses: let the proxy in front overwrite the header, and name no more in TRUSTED_PROXIES than it.',
  );
}
