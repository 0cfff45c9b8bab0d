import { ApiError } from '@meridian/runtime/http/api-error';

/** 400 for a well-formed value that cannot be given because of what is stored; `sentence` is the whole message. */
export function conflict(field: string, sentence: string): ApiError {
  return new ApiError('bad-request', sentence, { properties: { [field]: { errors: [sentence] } } });
}
