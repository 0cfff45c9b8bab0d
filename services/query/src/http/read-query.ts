import type { Context } from 'hono';
import type { z } from 'zod';
import type { QueryEnv } from '../query-env.ts';
import { invalidFields } from './bad-request.ts';

/** The query string; broken percent encodings stay as they were sent. */
export function searchParams(c: Context<QueryEnv>): URLSearchParams {
  const { url } = c.req;
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

/**
 * The parameters that `schema` knows. NUL is removed. An empty value counts as not given; of a repeated key the last
 * value counts.
 * @throws ApiError 400 that names every faulty parameter
 */
export function readQuery<Schema extends z.ZodObject>(params: URLSearchParams, schema: Schema): z.output<Schema> {
  const given: Record<string, string> = {};
  for (const [name, text] of params) {
    const value = text.replaceAll('\0', '');
    if (value !== '' && Object.hasOwn(schema.shape, name)) given[name] = value;
  }
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw invalidFields(parsed.error);
  return parsed.data;
}
