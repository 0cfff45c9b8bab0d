import { answerError, type Exchange } from '../http/answer.ts';
import { parseJson } from '../http/parse-json.ts';
import type { BodyFault } from '../http/unpack-bodies.ts';
import { readIdempotencyKey } from '../idempotency.ts';

export type JsonRequest = { body: Buffer; value: unknown; hasEscapes: boolean; idempotencyKey: string | undefined };

/**
 * Parses what was read of the body, and `Idempotency-Key`; null when one of them is not acceptable and the client has
 * been told.
 */
export function parseJsonRequest(exchange: Exchange, body: Buffer | BodyFault): JsonRequest | null {
  if (!Buffer.isBuffer(body)) {
    answerError(exchange, body.code, body.message);
    return null;
  }
  const parsed = parseJson(body);
  if (!parsed.ok) {
    answerError(exchange, 'bad-request', parsed.message);
    return null;
  }
  const idempotencyKey = readIdempotencyKey(exchange.request.headers['idempotency-key']);
  if (idempotencyKey === null) {
    answerError(exchange, 'bad-request', 'Idempotency-Key: must be 1 to 200 visible ASCII characters');
    return null;
  }
  return { body, value: parsed.value, hasEscapes: parsed.hasEscapes, idempotencyKey };
}
