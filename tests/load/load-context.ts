import type { LoadStores } from './load-stores.ts';
import type { Options } from './options.ts';
import type { Services, Started } from './services.ts';

/** What every measurement works with. */
export type LoadContext = {
  options: Options;
  stores: LoadStores;
  services: Services;
  /** The collector that is measured, ready. */
  ingest: Started;
};
