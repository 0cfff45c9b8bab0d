import type { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { errorStatus } from '@meridian/contract/errors';
import { PeerError, passedHeaders } from '@meridian/peers/peers';
import { networkOf } from '@meridian/runtime/http/address';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context } from 'hono';
import { createClientAddress } from '../auth/client-address.ts';
import { questionMaxMs } from '../config.ts';
import { clientSignal } from '../http/node-answer.ts';
import { withBody } from '../http/with-body.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** Statuses whose answers have no body. */
const bodiless = [204, 304];

/**
 * Hands a request on to the region that serves it, and its answer back as it streams. `target`: path and query there.
 * What another region has handed on stays here. A body is handed on when all of it is here: one that breaks off or is
 * too large would break the connection to that region, on which the requests of others travel.
 * @throws ApiError 413 for such a body, 431 for a head that is too large for that region, 503 when that cannot be
 * reached, when too many bodies wait for it, when two regions disagree about which of them it is, or as `withBody`
 */
export function createHandOn(deps: Pick<QueryDeps, 'peers' | 'config' | 'logger'>) {
  const { peers, config, logger } = deps;
  const addressOf = createClientAddress(config);

  /**
   * An answer as it streams. One that breaks off is told, and cut off here before its stream ends: whoever writes the
   * stream would take it for whole, and a stream that fails is printed beside the log.
   */
  async function* partsOf(body: Readable, c: Context<QueryEnv>, region: string): AsyncGenerator<Buffer> {
    try {
      yield* body;
    } catch (err) {
      if (clientSignal(c).aborted) return;
      logger.error({ err, requestId: c.get('requestId'), handedOnTo: region }, 'the answer of a region broke off');
      if (!c.env?.outgoing) throw err;
      c.env.outgoing.destroy();
    }
  }

  return async (c: Context<QueryEnv>, region: string, target: string): Promise<Response> => {
    c.get('logFields').handedOnTo = region;
    if (c.get('peer'))
      throw new ApiError('service-unavailable', 'The regions disagree about which of them serves this.');
    const { method } = c.req;
    const address = addressOf(c);
    const ask = (body?: Buffer) =>
      peers.ask(region, {
        method,
        path: target,
        headers: { ...passedHeaders(headersOf(c)), 'x-request-id': c.get('requestId') },
        body,
        claim: { address, ageMs: 0 },
        network: networkOf(address),
        signal: clientSignal(c),
        answerMaxMs: config.questionLimits.waitMaxMs + questionMaxMs,
      });
    try {
      const answer = await (method === 'GET' || method === 'HEAD' ? ask() : withBody(c, ask));
      // What is in front of a region answers in its stead: the process's own limits, which the headers exceed that were
      // added on the way, or the proxy of a region that is down.
      if (answer.headers['x-region'] !== region) {
        answer.body.resume();
        if (answer.status === errorStatus['headers-too-large'])
          throw new ApiError('headers-too-large', `Address and headers are too large to be handed on to ${region}.`);
        throw new PeerError(`Not region ${region} answered, with ${answer.status}`);
      }
      const headers = new Headers();
      for (const [name, value] of Object.entries(passedHeaders(answer.headers))) headers.set(name, String(value));
      const isEmpty = bodiless.includes(answer.status) || method === 'HEAD';
      if (isEmpty) answer.body.resume();
      // One platform type, declared twice.
      const body = isEmpty ? null : (ReadableStream.from(partsOf(answer.body, c, region)) as BodyInit);
      return new Response(body, { status: answer.status, headers });
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      throw new ApiError('service-unavailable', `Region ${region} cannot be reached at the moment.`, { cause: error });
    }
  };
}

function headersOf(c: Context<QueryEnv>) {
  return c.env?.incoming?.headers ?? c.req.header();
}
