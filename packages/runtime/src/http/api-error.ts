import { type ErrorBody, type ErrorCode, errorBody, errorStatus, type FieldErrors } from '@meridian/contract/errors';

type ApiErrorOptions = {
  /** What is wrong with each field; makes a validation failure. */
  properties?: FieldErrors;
  /** Extra answer headers, such as Retry-After. */
  headers?: Record<string, string>;
  /** What happened inside; logged, never sent. */
  cause?: unknown;
};

/** An answer other than success, thrown by services only. `message` is public: no SQL, names of parts, paths. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly properties: FieldErrors | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.properties = options.properties;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorStatus[this.code];
  }

  get body(): ErrorBody {
    return errorBody(this.code, this.message, this.properties);
  }
}
