import type { Target } from './closed-load.ts';
import type { LoadStores } from './load-stores.ts';
import type { Options } from './options.ts';
import type { Services } from './services.ts';

/** What every measurement works with. */
export type LoadContext = {
  options: Options;
  stores: LoadStores;
  services: Services;
  /** The collector that is measured, ready. */
  ingest: Target;
  /** The floor. */
  bare: Target;
};

/** Connections of browsers, and of servers that send batches. */
export const sendConnections = 64;
export const batchConnections = 8;
