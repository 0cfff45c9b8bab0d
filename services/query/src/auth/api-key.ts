import { createHash, randomBytes } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretLength = 32;
const marker = 'mrd_';
const keyPattern = /^mrd_[A-Za-z0-9]{32}$/;

/** How much of a key may be shown later, to recognise it by. */
const prefixLength = 10;

/** A new key: `mrd_` and 32 random letters and digits, about 190 bits. */
export function newApiKey(): string {
  return marker + randomAlphanumerics(secretLength);
}

export function isApiKey(credential: string): boolean {
  return keyPattern.test(credential);
}

export function apiKeyPrefix(key: string): string {
  return key.slice(0, prefixLength);
}

/** What is stored instead of the key. A plain hash does, because a key is no password: nobody can guess 190 bits. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Letters and digits, each as likely as any other: bytes beyond the last whole multiple of the alphabet are not used. */
export function randomAlphanumerics(length: number): string {
  const fairBelow = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length)
    for (const byte of randomBytes(length))
      if (byte < fairBelow && text.length < length) text += alphabet[byte % alphabet.length];
  return text;
}
