import { parseArgs } from 'node:util';

export const measurements = ['send', 'batch', 'latency', 'redis', 'scale', 'memory', 'worker', 'queryable'] as const;
export type Measurement = (typeof measurements)[number];

export type Options = {
  only: ReadonlySet<Measurement>;
  /** Length of one measured stretch. */
  seconds: number;
  /** How often the measured stretches of a ratio are repeated, one after the other. */
  rounds: number;
  /** How long the collector's memory is watched. */
  memoryMinutes: number;
  /** Measures the services' sources by tsx instead of the bundles that run in production. */
  fromSource: boolean;
  /** Prints where the services' time went. */
  profile: boolean;
};

/** @throws when an argument is unknown or has no sense */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: measurements.join() },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '7' },
      'memory-minutes': { type: 'string', default: '1' },
      'from-source': { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
    },
  });
  const positive = (name: 'seconds' | 'rounds' | 'memory-minutes') => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
    return value;
  };
  const only = values.only.split(',').map((name) => {
    const known = measurements.find((each) => each === name);
    if (!known) throw new Error(`--only knows ${measurements.join(', ')}`);
    return known;
  });
  return {
    only: new Set(only),
    seconds: positive('seconds'),
    rounds: Math.round(positive('rounds')),
    memoryMinutes: positive('memory-minutes'),
    fromSource: values['from-source'],
    profile: values.profile,
  };
}
