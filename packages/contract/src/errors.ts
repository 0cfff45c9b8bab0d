/** Every error code of the API with its HTTP status. The status is always looked up here, never written by hand. */
export const errorStatus = {
  'bad-request': 400,
  'unreadable-request': 400,
  unauthorized: 401,
  'incorrect-username-password': 401,
  forbidden: 403,
  'not-found': 404,
  'team-not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  'payload-too-large': 413,
  'unsupported-media-type': 415,
  'idempotency-key-reused': 422,
  'rate-limited': 429,
  'headers-too-large': 431,
  'server-error': 500,
  'service-unavailable': 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/**
 * Errors of what never became a request, be it that the connection was slow or that something on the way damaged it.
 * They say nothing of what was asked.
 */
export const isUnread = (code: ErrorCode): boolean =>
  code === 'unreadable-request' || code === 'request-timeout' || code === 'headers-too-large';

/** Whether it is one of these: another version may have others. */
export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorStatus, code);

/** What is wrong with each field of a request: `{ name: { errors: ['…'] } }`. */
export type FieldErrors = Record<string, { errors: string[] }>;

export type ErrorBody = {
  error: { message: string; code: ErrorCode; status: number; properties?: FieldErrors };
};

/** The body of every error answer. */
export function errorBody(code: ErrorCode, message: string, properties?: FieldErrors): ErrorBody {
  return { error: { message, code, status: errorStatus[code], ...(properties && { properties }) } };
}

/** The same content as RFC 9457 `application/problem+json`, for clients that ask for it. */
export function problemBody({ error }: ErrorBody): Record<string, unknown> {
  const { message, code, status, properties } = error;
  return { type: 'about:blank', title: code, status, detail: message, code, ...(properties && { properties }) };
}

/** True when an Accept header asks for RFC 9457. */
export function wantsProblem(accept: string | undefined | null): boolean {
  return accept?.toLowerCase().includes('application/problem+json') ?? false;
}
