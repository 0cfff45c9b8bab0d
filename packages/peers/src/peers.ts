import type { IncomingHttpHeaders } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';
import { Agent } from 'undici';
import { createPeerClaims, type HandedOn, type PeerClaim, peerHeader } from './peer-claim.ts';
import { createPeerClocks } from './peer-clocks.ts';
import type { PeerSettings } from './peer-settings.ts';
import { createPlaces } from './places.ts';

const connectMaxMs = 2_000;
/** The other side closes idle connections, and what stands between forgets them. */
const idleMaxMs = 4_000;
/** A region that cannot be reached is not tried again by every request. */
const restMs = 1_000;
/**
 * To each region; further requests wait for one. Far more than one account's questions that may wait there (200), and
 * fewer than the files that a process may have open.
 */
const connectionsMax = 500;
/** Anybody can hold a connection by reading slowly, and before a key is looked at. */
const ofNetworkMax = connectionsMax / 2;
/**
 * What a process holds of bodies until other regions have answered: half of what all bodies may have (`GrowingBody`),
 * which nobody else could use for so long.
 */
const waitingMaxBytes = 67_108_864;
/** Of the process, whose memory is one. */
let waitingBytes = 0;

/** The other region cannot be reached, or did not answer, or too much waits for answers already. */
export class PeerError extends Error {
  override readonly name = 'PeerError';
}

/** A request as it is handed on. `path` with its query; `headers` without those that are about one connection. */
export type PeerRequest = {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body?: Buffer | string | undefined;
  claim: HandedOn;
  /** The client's, which has half of the connections at most; none where no client asks. */
  network?: string | undefined;
  /** Ends it. */
  signal?: AbortSignal | undefined;
  /** How long an answer's first byte is waited for, a connection included, and each of those behind it. */
  answerMaxMs: number;
};

export type PeerAnswer = { status: number; headers: IncomingHttpHeaders; body: Readable };

export type WholePeerAnswer = { status: number; contentType: string; body: Buffer };

export type Peers = ReturnType<typeof createPeers>;

/** About one connection, or about the body as it was framed on it. */
const connectionHeaders = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'host', 'content-length', 'forwarded'],
]);
/** Headers never taken from a sender: proxies and regions set them. */
const sayingPrefixes = ['x-forwarded-', 'x-meridian-'];

/** What of a message's headers goes on to the other region, or back from it. */
export function passedHeaders(headers: IncomingHttpHeaders): Record<string, string | string[] | undefined> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !connectionHeaders.has(name) && !sayingPrefixes.some((prefix) => name.startsWith(prefix)),
    ),
  );
}

/**
 * The way to the other regions of the installation, and the check of what comes from them. A request is handed on once
 * at most: what comes with a claim is never handed on again. `settings` without `PEERS`: there is no other region.
 */
export function createPeers(region: string, { PEERS: urls, PEER_SECRET: secret = '' }: PeerSettings, now = Date.now) {
  const claims = createPeerClaims(secret, now);
  const wayMs = createPeerClocks();
  const others = new Map([...urls].filter(([name]) => name !== region));
  if (others.size > 0 && secret === '') throw new Error('PEER_SECRET: is required where there are PEERS');
  const connecting = { connect: { timeout: connectMaxMs }, connections: connectionsMax };
  const kept = new Agent({ ...connecting, keepAliveTimeout: idleMaxMs });
  const fresh = new Agent({ ...connecting, pipelining: 0 });
  const restsUntilMs = new Map<string, number>();
  // Trap: undici keeps a request that waits for a connection, with its body, also when its signal has ended it.
  const places = new Map([...others.keys()].map((name) => [name, createPlaces(connectionsMax, ofNetworkMax)]));

  /**
   * The answer's body must be read or destroyed: until then the request has its connection.
   * @throws PeerError when the region cannot be reached or says nothing, and when too many bodies wait for answers,
   * unless `signal` has ended it
   */
  async function ask(to: string, request: PeerRequest): Promise<PeerAnswer> {
    const url = others.get(to);
    const connections = places.get(to);
    if (!url || !connections) throw new PeerError(`There is no region ${to}`);
    if ((restsUntilMs.get(to) ?? 0) > performance.now()) throw new PeerError(`Region ${to} was not reached just now`);
    const { method, path, network = '', signal, body, answerMaxMs } = request;
    signal?.throwIfAborted();
    const bytes = heldBytes(body);
    if (waitingBytes + bytes > waitingMaxBytes) throw new PeerError('Too many bodies wait for other regions');
    const claim = claims.sign({ ...request.claim, from: region }, { to, method, path });
    // Trap: a signal keeps all that AbortSignal.any ever made of it, and the client's lives as long as its connection.
    const end = new AbortController();
    const leave = () => end.abort(signal?.reason);
    signal?.addEventListener('abort', leave);
    const timer = setTimeout(() => end.abort(), answerMaxMs);
    const sent = {
      origin: url,
      method: method as 'GET',
      path,
      headers: { ...request.headers, [peerHeader]: claim },
      body: body ?? null,
      signal: end.signal,
      headersTimeout: 0, // the deadline's
      bodyTimeout: answerMaxMs,
    };
    let placedAtMs: number | undefined;
    const letGo = () => {
      signal?.removeEventListener('abort', leave);
      waitingBytes -= bytes;
      if (placedAtMs !== undefined) connections.giveBack(network);
    };
    waitingBytes += bytes;
    try {
      await connections.take(network, end.signal);
      placedAtMs = performance.now();
      // A kept connection may be closed at the moment at which it is used again; only what changes nothing may be asked
      // twice.
      const answer = await kept.request(sent).catch((error: unknown) => {
        if ((method !== 'GET' && method !== 'HEAD') || !isBroken(error)) throw error;
        return fresh.request(sent);
      });
      answer.body.once('close', letGo);
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    } catch (error) {
      letGo();
      if (signal?.aborted) throw error;
      // A wait for one of our own connections says nothing of the region, nor what little time is left behind it.
      const isSilent =
        end.signal.aborted && placedAtMs !== undefined && performance.now() - placedAtMs > answerMaxMs / 2;
      if (isSilent || isUnreachable(error)) restsUntilMs.set(to, performance.now() + restMs);
      throw new PeerError(`Region ${to} did not answer`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    /** Names of the other regions. */
    regions: [...others.keys()] as readonly string[],
    has: (name: string): boolean => others.has(name),

    ask,

    /** The same, to the answer's end, within `answerMaxMs` in all. */
    async askWhole(to: string, request: PeerRequest): Promise<WholePeerAnswer> {
      const deadline = AbortSignal.timeout(request.answerMaxMs);
      const answer = await ask(to, request);
      try {
        const chunks: Buffer[] = await addAbortSignal(deadline, answer.body).toArray();
        const contentType = String(answer.headers['content-type'] ?? 'application/json');
        return { status: answer.status, contentType, body: Buffer.concat(chunks) };
      } catch (cause) {
        throw new PeerError(`The answer of region ${to} broke off`, { cause });
      }
    },

    /**
     * What another region says of a request that it hands on; undefined where a client sent it, null where that cannot
     * be told: such a request is served by nobody, for it would count as its sender's, or go round for ever. `path`
     * with its query, as it was sent.
     */
    claimOf(request: {
      method: string;
      path: string;
      header: string | string[] | undefined;
    }): PeerClaim | null | undefined {
      if (request.header === undefined || others.size === 0) return undefined;
      const claim = claims.verify(request.header, { to: region, method: request.method, path: request.path });
      if (!claim || !others.has(claim.from)) return null;
      const { from, address, ageMs, signedAtMs } = claim;
      const nowMs = now();
      return { from, address, receivedAtMs: nowMs - wayMs(from, signedAtMs, nowMs) - ageMs };
    },
    close: async (): Promise<void> => {
      await Promise.all([kept.destroy(), fresh.destroy()]);
    },
  };
}

/** What a request takes of memory until it is answered: undici makes bytes of a text, which whoever asks keeps. */
function heldBytes(body: Buffer | string | undefined): number {
  return typeof body === 'string' ? 2 * Buffer.byteLength(body) : (body?.length ?? 0);
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

const isBroken = (error: unknown): boolean => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));

/** Not even a connection came about. */
function isUnreachable(error: unknown): boolean {
  return ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(
    codeOf(error),
  );
}
