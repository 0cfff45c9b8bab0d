import type { Actor } from '@meridian/registry/rows';

/** Whom the audit log names for what this command changes: whoever may run it beside the stores. */
export const operator: Actor = { userId: null, name: 'operator', keyId: null, requestId: null };
