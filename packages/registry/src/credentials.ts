import { createHash, randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';

/* Secrets that are handed out once, and what the registry keeps in their place. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretLength = 32;
const marker = 'mrd_';
const keyPattern = /^mrd_[A-Za-z0-9]{32}$/;

/** How much of a key may be shown later, to recognise it by. */
const prefixLength = 10;

/** About 119 bits. */
const passwordLength = 20;

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

/** A password for somebody who chose none: 20 random letters and digits. */
export function newPassword(): string {
  return randomAlphanumerics(passwordLength);
}

/**
 * Letters and digits, each as likely as any other: bytes beyond the last whole multiple of the alphabet are not used.
 */
export function randomAlphanumerics(length: number): string {
  const fairBelow = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length)
    for (const byte of randomBytes(length))
      if (byte < fairBelow && text.length < length) text += alphabet[byte % alphabet.length];
  return text;
}

/** A hash of no password, with the parameters of `hashPassword`. */
const decoyHash = '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** argon2id with the library's defaults (19 MiB, 2 passes), computed off the event loop. */
export async function hashPassword(password: string): Promise<string> {
  return hash(password);
}

/**
 * Is it the password of this hash? Without a hash (unknown user) the answer is no, after the same work, so that the
 * time it takes does not tell which names exist.
 */
export async function verifyPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  const matches = await verify(passwordHash ?? decoyHash, password);
  return matches && passwordHash !== undefined;
}
