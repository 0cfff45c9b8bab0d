import { randomBytes } from 'node:crypto';
import { requestIdPattern } from '@meridian/contract/ids';

/**
 * Takes over a client's `x-request-id` when it is usable, else makes one: a random part for the process and a count,
 * because a random id for every event would cost the collector more than the rest of its answer's head.
 */
export function createRequestIds(): (given: string | string[] | undefined) => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return (given) => {
    if (typeof given === 'string' && requestIdPattern.test(given)) return given;
    count++;
    return `${prefix}-${count.toString(36)}`;
  };
}
