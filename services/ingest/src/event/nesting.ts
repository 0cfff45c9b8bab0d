/** True when arrays and objects are nested more than `levels` deep in `value`; never recurses deeper than that. */
export function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((inner) => isNested(inner) && isDeeperThan(inner, levels - 1));
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    if (isNested(inner) && isDeeperThan(inner, levels - 1)) return true;
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
