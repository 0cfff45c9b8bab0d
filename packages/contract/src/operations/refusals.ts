import { z } from 'zod';
import { type ErrorCode, errorBody, errorStatus, problemBody } from '../errors.ts';
import type { JsonSchema } from './json-schemas.ts';
import type { Operation } from './operation.ts';

const codes = Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]];
const status = z.int();
const properties = z
  .record(z.string(), z.object({ errors: z.array(z.string()) }))
  .optional()
  .describe('What is wrong with each field or parameter.');

/** Body of every refusal. */
export const ErrorAnswer = z.object({
  error: z.object({ message: z.string(), code: z.enum(codes), status, properties }),
});

/** The same by RFC 9457, for `Accept: application/problem+json`. */
export const Problem = z.object({
  type: z.literal('about:blank'),
  title: z.enum(codes),
  status,
  detail: z.string(),
  code: z.enum(codes),
  properties,
});

const meanings: Record<ErrorCode, string> = {
  'bad-request': 'The body or a parameter is not acceptable; `properties` names each faulty field.',
  'unreadable-request': 'It is no request of HTTP/1.1.',
  unauthorized: 'There is no credential, or it is not valid any more.',
  'incorrect-username-password': 'The username or the password is wrong.',
  forbidden: 'The caller may not do this; a share link may only read.',
  'not-found': 'There is no such thing, or the caller may not know of it.',
  'team-not-found': 'No team has this access code.',
  'method-not-allowed': 'The path has other methods; `Allow` names them.',
  'request-timeout': 'The request did not arrive in time.',
  'payload-too-large': 'The body is too large.',
  'unsupported-media-type': 'The body is a form or has an unknown encoding.',
  'idempotency-key-reused': 'The Idempotency-Key was used with another body.',
  'rate-limited': 'Too many requests.',
  'headers-too-large': 'Address and headers are longer than 16 KB, or more than 200 headers.',
  'server-error': 'A fault of the server.',
  'service-unavailable':
    'A store cannot be reached, a question took too long, or too many bodies are on their way. Worth trying again.',
};

const headersOf: Partial<Record<ErrorCode, readonly string[]>> = {
  unauthorized: ['WWW-Authenticate'],
  'rate-limited': ['Retry-After'],
  'service-unavailable': ['Retry-After'],
};

/** Every refusal that an operation knows, in the order of their statuses. */
export function refusalsOf({ access = 'caller', query, body, refusals = [] }: Operation): ErrorCode[] {
  const known = new Set<ErrorCode>([...refusals, 'server-error', 'service-unavailable']);
  if (query || body) known.add('bad-request');
  if (body) known.add('payload-too-large').add('unsupported-media-type');
  if (access !== 'anybody') known.add('unauthorized').add('rate-limited');
  if (access === 'caller' || access === 'session') known.add('forbidden');
  return codes.filter((code) => known.has(code));
}

/** The answer of each code. */
export function refusalResponses(schemaOf: (schema: z.ZodType) => JsonSchema): Record<string, JsonSchema> {
  const toResponse = (code: ErrorCode) => {
    const body = errorBody(code, meanings[code]);
    const headers = Object.fromEntries(
      (headersOf[code] ?? []).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    );
    return {
      description: meanings[code],
      ...(headersOf[code] && { headers }),
      content: {
        'application/json': { schema: schemaOf(ErrorAnswer), example: body },
        'application/problem+json': { schema: schemaOf(Problem), example: problemBody(body) },
      },
    };
  };
  return Object.fromEntries(codes.map((code) => [code, toResponse(code)]));
}
