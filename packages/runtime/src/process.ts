import { ConfigError } from './config.ts';
import type { Logger } from './logger.ts';

/** What a process started, to be stopped in reverse order. */
export type Life = {
  /** Registers what to do at the end; the last registered is stopped first. */
  onStop(name: string, stop: () => Promise<void> | void): void;
  /** Ends the process in order, as a signal would. */
  stop(exitCode: number): Promise<void>;
};

/** A start that failed for a reason the operator can mend: its message is printed without a stack. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** Signals that come within this time of the first are the same press. */
const samePressMs = 1_000;

/**
 * Runs a process from start to end: SIGTERM and SIGINT stop everything in reverse order of start, at most
 * `stopMaxMs` long. A second Ctrl-C or SIGTERM ends at once. A start that fails stops what was started and exits with
 * 1.
 */
export function runProcess(
  options: { logger: Logger; stopMaxMs?: number },
  start: (life: Life) => Promise<void>,
): void {
  const { logger, stopMaxMs = 25_000 } = options;
  const stops: { name: string; stop: () => Promise<void> | void }[] = [];
  let stopping: Promise<void> | undefined;
  let stoppingSinceMs = 0;

  async function stopAll(exitCode: number): Promise<void> {
    const deadline = setTimeout(() => {
      logger.error({ stopMaxMs }, 'not stopped in time');
      process.exit(1);
    }, stopMaxMs);
    deadline.unref();
    for (const { name, stop } of stops.reverse()) {
      try {
        await stop();
      } catch (error) {
        logger.error({ err: error, part: name }, 'part did not stop cleanly');
      }
    }
    process.exit(exitCode);
  }

  const life: Life = {
    onStop: (name, stop) => void stops.push({ name, stop }),
    stop: (exitCode) => {
      if (!stopping) stoppingSinceMs = performance.now();
      stopping ??= stopAll(exitCode);
      return stopping;
    },
  };

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) {
        // Trap: Ctrl-C under npm comes twice, from the terminal and from npm. Only a later one is somebody's
        // impatience.
        if (performance.now() - stoppingSinceMs > samePressMs) process.exit(1);
        return;
      }
      logger.info({ signal }, 'stopping');
      void life.stop(0);
    });
  }
  process.on('unhandledRejection', (error) => {
    logger.error({ err: error }, 'unhandled rejection');
    void life.stop(1);
  });

  start(life).catch((error: unknown) => {
    if (stopping) return; // it found gone what the stop has taken from it
    if (error instanceof ConfigError || error instanceof StartError) console.error(error.message);
    else logger.error({ err: error }, 'start failed');
    void life.stop(1);
  });
}
