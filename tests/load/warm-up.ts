import { closedLoad, type Target } from './closed-load.ts';
import { batchConnections, sendConnections } from './load-context.ts';
import { batchTraffic, sendTraffic } from './traffic.ts';
import { createVisitors } from './visitors.ts';

const secondsEach = 2;

/** Lets servers compile what they run often, before anything is measured. */
export async function warmUp(websites: readonly string[], ...servers: Target[]): Promise<void> {
  const browsers = { nextVisitor: createVisitors(sendTraffic(websites, 20_000)), connections: sendConnections };
  const senders = { nextVisitor: createVisitors(batchTraffic(websites, 400)), connections: batchConnections };
  for (const server of servers)
    for (const load of [browsers, senders]) await closedLoad({ ...load, targets: [server], seconds: secondsEach });
}
