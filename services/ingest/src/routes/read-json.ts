import { answerError, type Exchange } from '../http/answer.ts';
import { parseJson } from '../http/parse-json.ts';
import { readBody } from '../http/read-body.ts';
import { readIdempotencyKey } from '../idempotency.ts';

export type JsonRequest = { body: Buffer; value: unknown; idempotencyKey: string | undefined };

/** Reads body and `Idempotency-Key`; null when one of them is not acceptable and the client has been told. */
export async function readJson(
  exchange: Exchange,
  limits: { bodyMaxBytes: number; valuesMax: number },
): Promise<JsonRequest | null> {
  const { request } = exchange;
  const body = await readBody(request, limits.bodyMaxBytes);
  if (!Buffer.isBuffer(body)) {
    answerError(exchange, body.code, body.message);
    return null;
  }
  const parsed = parseJson(body, limits.valuesMax);
  if (!parsed.ok) {
    answerError(exchange, 'bad-request', parsed.message);
    return null;
  }
  const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
  if (idempotencyKey === null) {
    answerError(exchange, 'bad-request', 'Idempotency-Key: must be 1 to 200 visible ASCII characters');
    return null;
  }
  return { body, value: parsed.value, idempotencyKey };
}
