import { randomUUID } from 'node:crypto';
import { createTestProxy } from '@meridian/embedded/test-proxy';
import { startTestIngest } from '../ingest-fixtures.ts';

type RegionName = 'us' | 'eu';

/**
 * For tests: collectors of two regions that hand on to each other, each by way of a proxy, and know the same websites.
 * `settings`, `now`: of a region more than what it needs.
 */
export async function startTestRegions(
  settings: Partial<Record<RegionName, Record<string, string>>> = {},
  now: Partial<Record<RegionName, () => number>> = {},
) {
  const regionOf = new Map<string, RegionName>();
  /** Whose registry cannot be asked. */
  const withoutRegistry = new Set<RegionName>();
  const statusFor = (asking: RegionName) => async (id: string) => {
    if (withoutRegistry.has(asking)) throw new Error('The registry is away');
    const region = regionOf.get(id);
    return region ? { region, resetAt: null, deleted: false } : null;
  };
  const nowhere = { host: '127.0.0.1', port: 1 };
  const wayTo = { us: await createTestProxy(nowhere), eu: await createTestProxy(nowhere) };
  const PEERS = `us=http://127.0.0.1:${wayTo.us.port},eu=http://127.0.0.1:${wayTo.eu.port}`;
  async function start(region: RegionName) {
    const own = { REGION: region, PEERS, PEER_SECRET: 'a secret between regions, long enough too' };
    const ofRegion = now[region];
    const ingest = await startTestIngest(
      { ...own, ...settings[region] },
      { findWebsiteStatus: statusFor(region), ...(ofRegion && { now: ofRegion }) },
    );
    wayTo[region].setTargets([{ host: '127.0.0.1', port: ingest.port }]);
    return ingest;
  }
  const regions = { us: await start('us'), eu: await start('eu') };

  return {
    ...regions,
    wayTo,
    withoutRegistry,
    newWebsite(region: RegionName): string {
      const id = randomUUID();
      regionOf.set(id, region);
      return id;
    },
    async urlsStored(region: RegionName, websiteId: string): Promise<string[]> {
      return (await regions[region].storedEvents(websiteId)).map(({ urlPath }) => urlPath).sort();
    },
    /** How many requests wait for the other region. */
    async waitingIn(region: RegionName): Promise<number> {
      return (await regions[region].counts.spooled()).reduce((sum, { requests }) => sum + requests, 0);
    },
    async stop(): Promise<void> {
      for (const { stop } of Object.values(regions)) await stop();
      for (const proxy of Object.values(wayTo)) await proxy.close();
    },
  };
}
