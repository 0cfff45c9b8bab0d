import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type BlockStore, ForgottenTokenError, storeBlock } from './store-block.ts';

class Refusal extends Error {}
class NoMemory extends Error {}

/**
 * A store as ClickHouse is one: a block under a known token is not stored again, a bad row refuses its whole block.
 * `memory`: rows that it can take at once. With `storesRefused` it fails after it has stored the rows.
 */
function createStore(
  bad: readonly string[],
  { storesRefused = false, memory = Number.POSITIVE_INFINITY }: { storesRefused?: boolean; memory?: number } = {},
) {
  const rows: string[] = [];
  const tokens = new Set<string>();
  const refused: string[] = [];
  let inserts = 0;
  let partsNoted = 0;
  const store: BlockStore<string> = {
    async insert(block, token, isWhole) {
      inserts += 1;
      const isBad = block.some((row) => bad.includes(row));
      const isTooLarge = block.length > memory && !isWhole;
      if (isTooLarge && !storesRefused) throw new NoMemory('no memory');
      if (isBad && !storesRefused) throw new Refusal('cannot parse');
      if (!tokens.has(token)) rows.push(...block);
      tokens.add(token);
      if (isTooLarge) throw new NoMemory('no memory for a view');
      if (isBad) throw new Refusal('a view cannot take it');
    },
    findMissing: async (block) => block.filter((row) => !rows.includes(row)),
    isRefusal: (error) => error instanceof Refusal,
    isTooLarge: (error) => error instanceof NoMemory,
    async beforeParts() {
      partsNoted += 1;
    },
    refuse: (row) => refused.push(row),
    idOf: (row) => row,
  };
  return { store, rows, refused, tokens, inserts: () => inserts, partsNoted: () => partsNoted };
}

const letters = [...'abcdefghijklmnop'];

describe('a block', () => {
  test('is stored at once under its token', async () => {
    const { store, rows, tokens } = createStore([]);
    await storeBlock(store, letters, 't', false);
    expect(rows).toEqual(letters);
    expect([...tokens]).toEqual(['t']);
  });

  test.each([[['a']], [['h']], [['p']], [['a', 'b', 'p']], [letters]])(
    'with bad rows %j is stored but for these',
    async (bad) => {
      const { store, rows, refused } = createStore(bad);
      await storeBlock(store, letters, 't', false);
      expect(rows.sort()).toEqual(letters.filter((row) => !bad.includes(row)));
      expect(refused.sort()).toEqual(bad);
    },
  );

  test('of numbers may begin with 0', async () => {
    const stored: number[] = [];
    const refused: number[] = [];
    const store: BlockStore<number> = {
      async insert(rows) {
        if (rows.includes(1)) throw new Refusal('cannot parse');
        stored.push(...rows);
      },
      findMissing: async (rows) => rows,
      isRefusal: (error) => error instanceof Refusal,
      isTooLarge: () => false,
      beforeParts: async () => {},
      refuse: (row) => refused.push(row),
      idOf: String,
    };
    await storeBlock(store, [0, 1, 2], 't', false);
    expect([stored, refused]).toEqual([[0, 2], [1]]);
  });

  test('that was refused and yet stored is neither doubled nor refused', async () => {
    const { store, rows, refused } = createStore(['h'], { storesRefused: true });
    await storeBlock(store, letters, 't', false);
    expect(rows).toEqual(letters);
    expect(refused).toEqual([]);
  });

  test('for which there is no memory is stored in parts, and a bad row of it is refused', async () => {
    const { store, rows, refused, partsNoted } = createStore(['h'], { memory: 2 });
    await storeBlock(store, letters, 't', false);
    expect(rows.sort()).toEqual(letters.filter((row) => row !== 'h'));
    expect(refused).toEqual(['h']);
    expect(partsNoted()).toBeGreaterThan(0);
  });

  test('that was stored before the memory ended is repeated whole, which completes what the store began', async () => {
    const { store, rows, tokens, inserts, partsNoted } = createStore([], { memory: 2, storesRefused: true });
    await storeBlock(store, letters, 't', false);
    expect(rows).toEqual(letters);
    expect([[...tokens], inserts(), partsNoted()]).toEqual([['t'], 2, 0]);
  });

  test('of one row for which there is no memory is neither cut nor refused', async () => {
    const { store, rows, refused } = createStore([], { memory: 0 });
    await storeBlock(store, ['a'], 't', false);
    expect([rows, refused]).toEqual([['a'], []]);
  });

  test('that is stored again under the same token is not doubled', async () => {
    const { store, rows } = createStore([]);
    await storeBlock(store, letters, 't', false);
    await storeBlock(store, letters, 't', true);
    await storeBlock(store, letters, 't', false);
    expect(rows).toEqual(letters);
  });

  test('that may be stored under its own token only is sent whole again, which completes what the store began', async () => {
    const { store, inserts, partsNoted } = createStore([]);
    await storeBlock(store, letters, 't', false);
    await storeBlock(store, letters, 't', false);
    expect(inserts()).toBe(2);
    expect(partsNoted()).toBe(0);
  });

  test('is noted as cut before a part of it is stored', async () => {
    const { store, tokens } = createStore(['h']);
    const noted: number[] = [];
    await storeBlock({ ...store, beforeParts: async () => void noted.push(tokens.size) }, letters, 't', false);
    expect(noted[0]).toBe(0);
  });

  test('of which an earlier attempt stored a part is completed', async () => {
    const { store, rows } = createStore([]);
    await store.insert(letters.slice(3, 9), 'earlier', false);
    await storeBlock(store, letters, 't', true);
    expect([...rows].sort()).toEqual(letters);
  });

  test('of which an earlier attempt stored nothing keeps its token: that attempt may still be under way', async () => {
    const { store, tokens } = createStore([]);
    await storeBlock(store, letters, 't', true);
    expect([...tokens]).toEqual(['t']);
  });

  test('whose token the store has forgotten is completed, and not sent again', async () => {
    const { store, rows, partsNoted } = createStore([]);
    let tries = 0;
    const insert: typeof store.insert = async (block, token, isWhole) => {
      if (++tries > 1) return store.insert(block, token, isWhole);
      rows.push(...block.slice(0, 5));
      throw new ForgottenTokenError();
    };
    await storeBlock({ ...store, insert }, letters, 't', false);
    expect([rows, tries, partsNoted()]).toEqual([letters, 2, 1]);
  });

  test('that is cut by two workers at once is not doubled', async () => {
    const { store, rows, refused } = createStore(['h']);
    await Promise.all([storeBlock(store, letters, 't', false), storeBlock(store, letters, 't', false)]);
    expect(rows.sort()).toEqual(letters.filter((row) => row !== 'h'));
    expect(new Set(refused)).toEqual(new Set(['h']));
  });

  test('of which one half fails is not given up before the other one has ended', async () => {
    const { store, rows } = createStore(['h']);
    let ended = false;
    const insert: typeof store.insert = async (block, token, isWhole) => {
      if (block.length === letters.length || block.includes('h')) return store.insert(block, token, isWhole);
      if (block.includes('a')) throw new Error('away');
      await nextTurn();
      await store.insert(block, token, isWhole);
      ended = true;
    };
    await expect(storeBlock({ ...store, insert }, letters, 't', false)).rejects.toThrow('away');
    expect(ended).toBe(true);
    expect(rows).toEqual(expect.arrayContaining(['i', 'p']));
  });

  test('without rows is nothing', async () => {
    const { store, inserts } = createStore([]);
    await storeBlock(store, [], 't', false);
    expect(inserts()).toBe(0);
  });

  test('whose store is away fails as the store does', async () => {
    const { store } = createStore([]);
    const away = { ...store, insert: () => Promise.reject(new Error('away')) };
    await expect(storeBlock(away, letters, 't', false)).rejects.toThrow('away');
  });
});
