import type { FieldErrors } from '@meridian/contract/errors';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { z } from 'zod';

/** 400 about one field or query parameter: `badRequest('unit', 'must be …')`. */
export function badRequest(field: string, fault: string): ApiError {
  return new ApiError('bad-request', `${field}: ${fault}`, { properties: { [field]: { errors: [fault] } } });
}

/** 400 for a well-formed value that cannot be given because of what is stored; `sentence` is the whole message. */
export function refusedValue(field: string, sentence: string): ApiError {
  return new ApiError('bad-request', sentence, { properties: { [field]: { errors: [sentence] } } });
}

/** 400 that lists every field that a schema refused; nested fields are named with dots. */
export function invalidFields(error: z.ZodError): ApiError {
  const properties: FieldErrors = {};
  for (const { path, message } of error.issues) {
    const field = path.map(String).join('.');
    properties[field] ??= { errors: [] };
    properties[field].errors.push(message);
  }
  const faults = Object.entries(properties).map(([field, { errors }]) => `${field}: ${errors.join(', ')}`);
  return new ApiError('bad-request', faults.join('; '), { properties });
}
