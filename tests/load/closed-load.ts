import { cpuSecondsOf } from './process-figures.ts';
import { connectSender, type Sender } from './sender.ts';
import type { NextVisitor } from './visitors.ts';

export type Target = { port: number; pid: number };
export type LoadResult = { requests: number; failed: number; seconds: number; cpuSeconds: number };

/**
 * Keeps `connections` busy for `seconds`, one request after the other on each, and counts what the targets' processes
 * pay. Each target has as many connections as the others.
 */
export async function closedLoad(options: {
  targets: readonly [Target, ...Target[]];
  nextVisitor: NextVisitor;
  connections: number;
  seconds: number;
}): Promise<LoadResult> {
  const { targets, nextVisitor, connections, seconds } = options;
  const senders = await Promise.all(
    Array.from({ length: connections }, (_, i) => {
      const { port } = targets[i % targets.length] ?? targets[0];
      return connectSender(port, nextVisitor);
    }),
  );
  const counts = { requests: 0, failed: 0 };
  const cpuSeconds = () => targets.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
  const cpuBefore = cpuSeconds();
  const startedAtMs = performance.now();
  await Promise.all(senders.map((sender) => keepBusy(sender, startedAtMs + seconds * 1_000, counts)));
  const result = {
    ...counts,
    seconds: (performance.now() - startedAtMs) / 1_000,
    cpuSeconds: cpuSeconds() - cpuBefore,
  };
  for (const sender of senders) sender.close();
  return result;
}

function keepBusy(sender: Sender, endAtMs: number, counts: { requests: number; failed: number }): Promise<void> {
  return new Promise((resolve) => {
    const onAnswer = (isOk: boolean) => {
      counts.requests++;
      if (!isOk) counts.failed++;
      if (performance.now() < endAtMs) sender.send(onAnswer);
      else resolve();
    };
    sender.send(onAnswer);
  });
}
