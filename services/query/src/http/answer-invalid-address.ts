import type { RequestListener } from 'node:http';
import { errorBody, problemBody, wantsProblem } from '@meridian/contract/errors';
import { createRequestIds } from '@meridian/runtime/http/request-id';
import { headersOfAll } from './answer-headers.ts';

/** Answers a request that never reaches the app, because no URL can be made of its address and its Host. */
export function createInvalidAddressAnswer(region: string): RequestListener {
  const requestIdOf = createRequestIds();
  const body = errorBody('bad-request', 'The address is not valid.');
  return ({ headers }, response) => {
    const asProblem = wantsProblem(headers.accept);
    response.writeHead(body.error.status, {
      ...headersOfAll(region),
      'x-request-id': requestIdOf(headers['x-request-id']),
      'content-type': asProblem ? 'application/problem+json' : 'application/json',
    });
    response.end(JSON.stringify(asProblem ? problemBody(body) : body));
  };
}
