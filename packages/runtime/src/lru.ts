/**
 * Keeps the most recently used entries, at least `max` and at most twice as many. Two generations instead of a linked
 * list: a hit costs one or two map lookups. Values must not be undefined.
 */
export class Lru<Key, Value extends NonNullable<unknown> | null> {
  private readonly max: number;
  private recent = new Map<Key, Value>();
  private older = new Map<Key, Value>();

  constructor(max: number) {
    this.max = max;
  }

  get(key: Key): Value | undefined {
    const recent = this.recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: Key, value: Value): void {
    this.recent.set(owned(key), value);
    if (this.recent.size < this.max) return;
    this.older = this.recent;
    this.recent = new Map();
  }

  delete(key: Key): void {
    this.recent.delete(key);
    this.older.delete(key);
  }
}

/** A text that was cut out of a larger one keeps that one in memory: so the key is a copy, well-formed Unicode. */
function owned<Key>(key: Key): Key {
  return typeof key === 'string' ? (Buffer.from(key).toString() as Key & string) : key;
}
