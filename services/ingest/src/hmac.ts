import { createHash, hash } from 'node:crypto';

const blockBytes = 64;
const hashBytes = 32;
const messageMaxLength = 1_024;

/** Characters of an HMAC: 32 bytes in base64url. */
export const hmacLength = 43;

/**
 * HMAC-SHA-256 (RFC 2104) of short messages under one key, in base64url. Made of two one-shot hashes: every answer
 * carries one, and an Hmac object of node:crypto costs four times as much.
 * @returns a function of a message of at most 1,024 characters of Latin-1
 */
export function createHmacSha256(key: Uint8Array): (message: string) => string {
  const block = Buffer.alloc(blockBytes);
  block.set(key.length > blockBytes ? createHash('sha256').update(key).digest() : key);
  const inner = Buffer.alloc(blockBytes + messageMaxLength);
  const outer = Buffer.alloc(blockBytes + hashBytes);
  for (const [i, byte] of block.entries()) {
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  return (message) => {
    if (message.length > messageMaxLength) throw new RangeError('The message is too long');
    inner.write(message, blockBytes, 'latin1');
    outer.write(hash('sha256', inner.subarray(0, blockBytes + message.length), 'binary'), blockBytes, 'latin1');
    return hash('sha256', outer, 'base64url');
  };
}
