import { randomUUID } from 'node:crypto';
import type { PeerSettings } from '@meridian/peers/peer-settings';
import { createPeers } from '@meridian/peers/peers';
import { secondsAhead } from './clocks.ts';
import { type Finding, fail, messageOf, ok, warn } from './finding.ts';

const answerMaxMs = 10_000;
/** The header with the time has whole seconds. */
const headerStepMs = 1_000;
/** What regions sign counts for a quarter of an hour by either clock. */
const clocksApartWarnMs = 60_000;
const clocksApartMaxMs = 14 * 60_000;

/**
 * What an address answers. `region`: which one it says it is; '' = none. `aheadMs`: its clock against this machine's,
 * to a second.
 */
type RegionAnswer = { region: string; latencyMs: number; aheadMs: number | null };

/** Asks the API behind an address whether it is there. Rejects when it is not. */
export async function askRegion(address: string, now: () => Date): Promise<RegionAnswer> {
  const askedAtMs = now().getTime();
  const begunMs = performance.now();
  // Not under a region's name: any region would hand that on to the right one.
  const answer = await fetch(`${address}/v1/heartbeat`, {
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMaxMs),
  });
  await answer.arrayBuffer();
  const latencyMs = performance.now() - begunMs;
  if (answer.status !== 200) throw new Error(`/v1/heartbeat answers ${answer.status}`);
  const saidMs = Date.parse(answer.headers.get('date') ?? '') + headerStepMs / 2;
  const aheadMs = saidMs - (askedAtMs + latencyMs / 2);
  return {
    region: answer.headers.get('x-region') ?? '',
    latencyMs,
    aheadMs: Number.isNaN(aheadMs) ? null : Math.abs(aheadMs) <= headerStepMs ? 0 : aheadMs,
  };
}

/** Whether an address is that of the region, and how far away that is. */
export async function checkAddress(region: string, address: string, now: () => Date): Promise<Finding> {
  try {
    return judgeAnswer(region, address, await askRegion(address, now));
  } catch (error) {
    return fail(`${address}: ${messageOf(error)}`, 'See whether the address is right and its proxy and query run.');
  }
}

export function judgeAnswer(region: string, address: string, answer: RegionAnswer): Finding {
  const { latencyMs, aheadMs } = answer;
  if (answer.region !== region)
    return fail(
      `${address} is ${answer.region === '' ? 'no region' : `region ${answer.region}`}`,
      'Put right PEERS or REGION: they are the same names everywhere.',
    );
  const clock = aheadMs === null ? 'tells no time' : `its clock ${secondsAhead(aheadMs)}`;
  const detail = `${address}: ${Math.round(latencyMs)} ms, ${clock}`;
  const advice = 'Let every machine take its time from NTP; regions believe each other within 15 minutes only.';
  const apartMs = Math.abs(aheadMs ?? 0);
  if (apartMs > clocksApartMaxMs) return fail(detail, advice);
  return apartMs > clocksApartWarnMs ? warn(detail, advice) : ok(detail);
}

/** Whether another region can be reached, is the one that it is taken for, and believes what this one signs. */
export async function checkPeer(
  { region, settings, now }: { region: string; settings: PeerSettings; now: () => Date },
  peer: string,
): Promise<Finding> {
  const finding = await checkAddress(peer, settings.PEERS.get(peer) ?? '', now);
  if (finding.status === 'FAIL') return finding;
  if (settings.PEER_SECRET === undefined)
    return fail(`${finding.detail}; PEER_SECRET is not set`, 'Give all services, and this command, the same one.');
  const status = await askSigned(region, settings, peer);
  if (status === 200) return { ...finding, detail: `${finding.detail}, believes this region` };
  return fail(
    `${finding.detail}; answers ${status} to what this region signs`,
    `PEER_SECRET is another one there, or PEERS there do not name ${region}, or a clock is wrong; or its Redis is away.`,
  );
}

/** One question that only regions are answered: the window of a key that does not exist, which is forgotten in 15 s. */
async function askSigned(region: string, settings: PeerSettings, peer: string): Promise<number> {
  const peers = createPeers(region, settings);
  try {
    const { status, body } = await peers.ask(peer, {
      method: 'POST',
      path: `/peer/rate-limit/${randomUUID()}`,
      headers: {},
      claim: { address: '', ageMs: 0 },
      answerMaxMs,
    });
    body.resume();
    return status;
  } finally {
    await peers.close();
  }
}
