import { z } from 'zod';
import { createAddressList } from './address-list.ts';

/** Addresses and CIDR ranges, separated by commas. */
export const addressList = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  )
  .superRefine((entries, context) => {
    for (const entry of entries) {
      try {
        createAddressList([entry]);
      } catch {
        context.addIssue({ code: 'custom', message: `"${entry}" is no address and no CIDR range` });
      }
    }
  });

/** What a service that tells its clients apart by their addresses must know of the proxies in front of it. */
export const ProxySettings = z.object({
  /** Proxies whose forwarding headers are believed. */
  TRUSTED_PROXIES: addressList,
  /** The header in which a trusted proxy tells the client's address, instead of X-Forwarded-For and Forwarded. */
  CLIENT_IP_HEADER: z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of one header')
    .optional(),
});
