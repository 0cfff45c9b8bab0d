import { createHash, hash } from 'node:crypto';

const blockBytes = 64;
const messageMaxBytes = 1_024;

/**
 * HMAC-SHA-256 (RFC 2104) of short messages under one key, made of two one-shot hashes: each answer carries one, and an Hmac
 * object of node:crypto costs four times as much.
 * @returns the 32 bytes, as characters of Latin-1, for a message of at most 1,024 bytes
 */
export function createHmacSha256(key: Uint8Array): (message: Uint8Array) => string {
  const block = Buffer.alloc(blockBytes);
  block.set(key.length > blockBytes ? createHash('sha256').update(key).digest() : key);
  const inner = Buffer.alloc(blockBytes + messageMaxBytes);
  const outer = Buffer.alloc(blockBytes + 32);
  for (const [i, byte] of block.entries()) {
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  return (message) => {
    inner.set(message, blockBytes);
    outer.write(hash('sha256', inner.subarray(0, blockBytes + message.length), 'binary'), blockBytes, 'latin1');
    return hash('sha256', outer, 'binary');
  };
}
