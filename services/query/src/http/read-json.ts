import { ApiError } from '@meridian/runtime/http/api-error';
import { hasMoreValues } from '@meridian/runtime/http/json-values';
import type { Context } from 'hono';
import type { z } from 'zod';
import type { QueryEnv } from '../query-env.ts';
import { invalidFields } from './bad-request.ts';
import { withBody } from './with-body.ts';

/** Far more than any body of the API needs; a login's is read for anybody. */
const valuesMax = 20_000;
const formType = /^\s*(application\/x-www-form-urlencoded|multipart\/form-data)\b/i;

/**
 * Reads the body as a JSON object of `schema`, whatever the content type says, unless it is a form.
 * Keys that the schema does not know are ignored. NUL is removed from every text and key, and half a surrogate pair
 * becomes U+FFFD.
 * @throws ApiError 413 above 1 MB, 415 for a form, 400 for anything else that does not fit, 503 as `withBody`
 */
export async function readJson<Schema extends z.ZodType>(
  c: Context<QueryEnv>,
  schema: Schema,
): Promise<z.output<Schema>> {
  if (formType.test(c.req.header('content-type') ?? ''))
    throw new ApiError('unsupported-media-type', 'The body must be JSON.');
  const body = await withBody(c, parseJson);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError('bad-request', 'The body must be a JSON object.');
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw invalidFields(parsed.error);
  return parsed.data;
}

function parseJson(bytes: Buffer): unknown {
  if (hasMoreValues(bytes, valuesMax))
    throw new ApiError('bad-request', `The JSON must not hold more than ${valuesMax} values.`);
  try {
    return JSON.parse(new TextDecoder().decode(bytes), (_key, value) => storable(value));
  } catch (cause) {
    // Deep nesting ends here as well: a RangeError.
    throw new ApiError('bad-request', 'The body is not valid JSON.', { cause });
  }
}

/** What of a parsed value can be stored; what is inside of it has been here before. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), inner]));
}

const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed();
