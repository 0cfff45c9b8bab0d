/** Until more is known of a region's clock, it is held to be right when it seems to be so far behind at most. */
const heldRightMs = 60_000;
/** The fastest request is remembered for so long, and until one came later than that. */
const windowMs = 60_000;

/**
 * Estimates a request's travel time: its clock difference minus the smallest one seen recently. So the regions' clocks
 * may differ, and time for which this process or the way hung is counted. Too small by the travel time of the fastest
 * request, and wrong for a minute or two after a clock was set. Machines of one region are taken to have one clock.
 */
export function createPeerClocks() {
  const seen = new Map<string, { apartMs: number; apartBeforeMs: number; sinceMs: number }>();

  /** @returns ms, never negative. `sentAtMs`: by the region's clock, Unix ms; `nowMs`: by ours. */
  return function wayMs(region: string, sentAtMs: number, nowMs: number): number {
    const apartMs = nowMs - sentAtMs;
    let clock = seen.get(region);
    if (!clock) {
      const isRight = apartMs >= 0 && apartMs <= heldRightMs;
      clock = { apartMs: isRight ? 0 : apartMs, apartBeforeMs: Number.POSITIVE_INFINITY, sinceMs: nowMs };
      seen.set(region, clock);
    } else if (Math.abs(nowMs - clock.sinceMs) > windowMs) {
      clock.apartBeforeMs = clock.apartMs;
      clock.apartMs = apartMs;
      clock.sinceMs = nowMs;
    }
    clock.apartMs = Math.min(clock.apartMs, apartMs);
    return apartMs - Math.min(clock.apartMs, clock.apartBeforeMs);
  };
}
