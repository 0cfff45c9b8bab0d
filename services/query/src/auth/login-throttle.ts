import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { networkOf } from '@meridian/runtime/http/address';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { QueryDeps } from '../query-env.ts';

const failuresMax = 10;
const windowMs = 15 * 60_000;
/**
 * A try is over in moments, unless thousands of networks guess at once; one whose process died gives its slot back
 * after this time.
 */
const tryMaxMs = 60_000;
/** Of one network at a time; checked within a second or so. */
const checksMax = 20;
const waitMaxMs = 10_000;
const pauseMinMs = 20;
const pauseMaxMs = 250;

/**
 * Takes one of ten slots. Failures hold theirs for the window, tries that go on until they end: so of guesses sent in
 * parallel no more are looked at than of guesses sent one by one. Returns 0 = go on, -1 = free slots are in use for the
 * moment, else the ms until the failures are forgotten.
 */
const beginScript = `
local failures = tonumber(redis.call('GET', KEYS[1]) or '0')
if failures >= tonumber(ARGV[1]) then return math.max(1, redis.call('PTTL', KEYS[1])) end
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', nowMs)
if failures + redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[1]) then return -1 end
redis.call('ZADD', KEYS[2], nowMs + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 0`;

/**
 * Gives the slot back. The first failure opens the window, the last one begins the wait; a success forgets them all.
 */
const endScript = `
redis.call('ZREM', KEYS[2], ARGV[3])
if ARGV[4] == 'right' then redis.call('DEL', KEYS[1]) end
if ARGV[4] ~= 'wrong' then return end
local failures = redis.call('INCR', KEYS[1])
if failures == 1 or failures == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`;

/** Of one network. `waiting`: who came first is first; a Set, because one may leave from the middle. */
type Checks = { running: number; waiting: Set<() => void> };

/**
 * Passwords under check, by network. All checks of a process share its threads, where guesses with made-up names, which
 * no window stops, would hold everybody's.
 */
const checksOf = new Map<string, Checks>();

/** `unknown`: the password could not be checked. */
type Outcome = 'right' | 'wrong' | 'unknown';

type ThrottleDeps = Pick<QueryDeps, 'redis' | 'logger'>;

/**
 * Guards a check of a password; null from the check is a failure. Failures are counted per user name and client network
 * (docs/semantics.md "Logins"), in Redis for all processes.
 * @throws ApiError 429 after 10 failures in 15 minutes, for 15 minutes, when 10 tries that go on do not end within
 *   10 s, or other tries of the client's network that come before it; 503 when tries cannot be counted
 */
export async function throttleLogin<Proved>(
  deps: ThrottleDeps,
  { username, address }: { username: string; address: string },
  check: () => Promise<Proved | null>,
): Promise<Proved | null> {
  const keys = keysOf(username, address);
  const tryId = randomUUID();
  await begin(deps, keys, tryId);
  let outcome: Outcome = 'unknown';
  try {
    const proved = await checkBesideFew(networkOf(address), check);
    outcome = proved === null ? 'wrong' : 'right';
    return proved;
  } finally {
    await end(deps, keys, tryId, outcome);
  }
}

async function checkBesideFew<Proved>(network: string, check: () => Promise<Proved>): Promise<Proved> {
  const checks = checksOf.get(network) ?? { running: 0, waiting: new Set() };
  checksOf.set(network, checks);
  if (checks.running < checksMax) checks.running++;
  else await untilTurn(checks);
  try {
    return await check();
  } finally {
    const [begin] = checks.waiting;
    if (begin) begin();
    else if (--checks.running === 0) checksOf.delete(network);
  }
}

/** Waits until a check that ends leaves its place. */
function untilTurn({ waiting }: Checks): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      clearTimeout(timer);
      waiting.delete(begin);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(begin);
      reject(tooManyAtOnce());
    }, waitMaxMs);
    waiting.add(begin);
  });
}

async function begin({ redis }: ThrottleDeps, keys: [string, string], tryId: string): Promise<void> {
  const deadlineMs = performance.now() + waitMaxMs;
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
    const waitMs = await redis.eval(beginScript, 2, ...keys, failuresMax, tryMaxMs, tryId).catch((cause) => {
      throw new ApiError('service-unavailable', 'Passwords cannot be checked at the moment.', { cause });
    });
    if (waitMs === 0) return;
    if (waitMs !== -1) throw tooMany('Too many failed logins. Try again later.', Number(waitMs));
    if (performance.now() > deadlineMs) throw tooManyAtOnce();
    await pause(pauseMs);
  }
}

/** Where this fails the slot stays taken for a while, so the limit holds. */
async function end(
  { redis, logger }: ThrottleDeps,
  keys: [string, string],
  tryId: string,
  outcome: Outcome,
): Promise<void> {
  await redis
    .eval(endScript, 2, ...keys, failuresMax, windowMs, tryId, outcome)
    .catch((err: unknown) => logger.warn({ err, outcome }, 'outcome of a login not counted'));
}

const tooManyAtOnce = (): ApiError => tooMany('Too many logins at once. Try again later.', waitMaxMs);

function tooMany(message: string, waitMs: number): ApiError {
  return new ApiError('rate-limited', message, { headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) } });
}

/**
 * Of the failures and of the tries that go on. Neither the name nor the address is kept; who has an IPv6 address has
 * its whole network.
 */
function keysOf(username: string, address: string): [string, string] {
  const name = username.normalize('NFC').toLowerCase();
  const hash = createHash('sha256')
    .update(JSON.stringify([name, networkOf(address)]))
    .digest('base64url');
  return [`login-failures:{${hash}}`, `login-running:{${hash}}`];
}
