import { expect, test } from 'vitest';
import { errorBody, problemBody, wantsProblem } from './errors.ts';

test('an error body repeats its status and names the faulty fields', () => {
  expect(errorBody('bad-request', 'Bad request', { name: { errors: ['is required'] } })).toEqual({
    error: {
      message: 'Bad request',
      code: 'bad-request',
      status: 400,
      properties: { name: { errors: ['is required'] } },
    },
  });
});

test('RFC 9457 carries the same content, only when asked for', () => {
  expect(problemBody(errorBody('not-found', 'Not found'))).toEqual({
    type: 'about:blank',
    title: 'not-found',
    status: 404,
    detail: 'Not found',
    code: 'not-found',
  });
  expect(wantsProblem('application/problem+json')).toBe(true);
  expect(wantsProblem('application/json')).toBe(false);
});
