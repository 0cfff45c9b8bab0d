const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Postgres answers anything else with an error, so a lookup by such an id ends here: there is no such row. */
export function isUuid(id: string): boolean {
  return uuid.test(id);
}
