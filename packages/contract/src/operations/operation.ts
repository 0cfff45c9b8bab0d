import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';

type Method = 'GET' | 'POST' | 'DELETE';

/** Method and path without prefix, parameters in braces: 'GET /websites/{websiteId}'. */
export type Route = `${Method} /${string}`;

/**
 * Who may ask: `reader` is a caller or a share link's token, `caller` an API key or a session token, `session` a
 * session token and no key.
 */
export type Access = 'anybody' | 'reader' | 'caller' | 'session';

/** What the API says of one route. What follows from it (401, 403, 413, 429 …) is added in `refusalsOf`. */
export type Operation = {
  /** As `@umami/api-client` calls it, where that has it. */
  id: string;
  /** A few words, for lists. */
  summary: string;
  /** What the summary and the schemas leave open; Markdown. */
  description?: string;
  /** Default: 'caller'. */
  access?: Access;
  query?: z.ZodObject;
  /** Takes the filters of statistics too. */
  filters?: true;
  /** Request headers beside the credential; names in lower case. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  /** Body of the answer 200. */
  answer: z.ZodType;
  /** Refusals that do not follow from the rest. */
  refusals?: readonly ErrorCode[];
};

/** Operations that belong together. */
export type OperationFamily = {
  name: string;
  description: string;
  /** Does not exist, or is forbidden to everybody, on cloud. */
  selfHostedOnly?: true;
  operations: Readonly<Record<Route, Operation>>;
};

/** The answer where there is nothing to tell. */
export const Done = z.object({ ok: z.literal(true) });
