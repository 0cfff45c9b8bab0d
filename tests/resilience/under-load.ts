import { eventually } from '../api-client.ts';
import { checkLoad, describe, type Report } from './checker.ts';
import { type LoadOptions, type NumberedLoad, startNumberedLoad } from './numbered-load.ts';
import type { System } from './system.ts';

/**
 * Does something to the system while a website of its own is sent events, and tells what became of them when all is
 * over.
 */
export async function underLoad(
  system: System,
  act: (load: NumberedLoad, websiteId: string) => Promise<void>,
  options: Partial<LoadOptions> & { timeoutMs?: number; countsAreSure?: boolean } = {},
): Promise<{ load: NumberedLoad; report: Report; websiteId: string }> {
  const websiteId = await system.newWebsite();
  const load = startNumberedLoad({ ports: system.ingestPorts(), websiteId, ...options });
  try {
    await untilAccepted(load, 50);
    await act(load, websiteId);
    await untilAccepted(load, 50);
  } finally {
    await load.stop();
  }
  const report = await checkLoad(system, websiteId, load, options);
  console.log(`${describe(report)}; answers ${JSON.stringify(Object.fromEntries(load.statuses))}`);
  return { load, report, websiteId };
}

/** Waits until so many more events are accepted. */
export async function untilAccepted(load: NumberedLoad, more: number, timeoutMs = 60_000): Promise<void> {
  const before = load.accepted.size;
  await eventually(
    async () => load.accepted.size,
    (size) => size >= before + more,
    timeoutMs,
  );
}

/** Waits until so many more are refused. */
export async function untilRefused(load: NumberedLoad, more: number, timeoutMs = 60_000): Promise<void> {
  const before = load.refused.size;
  await eventually(
    async () => load.refused.size,
    (size) => size >= before + more,
    timeoutMs,
  );
}

/** What a report must be like when nothing was lost, doubled or set aside, and nothing stored that was refused. */
export const exactlyOnce = { lost: [], doubled: [], deadLettered: 0, storedOfRefused: [] };
