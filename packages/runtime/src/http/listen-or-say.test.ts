import { expect, test } from 'vitest';
import { StartError } from '../process.ts';
import { listenOrSay } from './listen-or-say.ts';

test.each(['http://x', '192.0.2.1', 'none.invalid', '300.1.1.1'])(
  'an address that this machine does not have is told with its variable: %s',
  async (host) => {
    const listening = listenOrSay('PORT', () => {}, { port: 0, host });
    await expect(listening).rejects.toThrow(StartError);
    await expect(listening).rejects.toThrow(new RegExp(`^${host} is no address of this machine .*HOST`));
  },
);
