/** A UUID of any version, lower or upper case, with dashes and nothing around it. */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuidPattern.test(value);

/** A request id that is taken over from the client: 1 to 128 visible ASCII characters. */
export const requestIdPattern = /^[\x21-\x7e]{1,128}$/;
