import { isIPv4 } from 'node:net';

/** What a record holds. Numbers are written as unsigned 32-bit ones. */
type Value = string | number | readonly Value[] | { readonly [key: string]: Value };
/** A pair of children: a node, the index of a record, or nothing known. */
type Child = Node | number | undefined;
type Node = [Child, Child];

const recordBytes = 4;
const separatorBytes = 16;
const metadataMarker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');

/**
 * For tests: a file in MaxMind's format (https://maxmind.github.io/MaxMind-DB/) with a record for each network. Of
 * networks in one another the longer prefix must come later.
 * @param ipVersion 4 for a file of IPv4 networks only
 */
export function buildMmdb(networks: readonly (readonly [cidr: string, record: Value])[], ipVersion: 4 | 6 = 6): Buffer {
  const root: Node = [undefined, undefined];
  networks.forEach(([cidr], index) => {
    place(root, bitsOf(cidr).slice(ipVersion === 4 ? 96 : 0), index);
  });
  const nodes = nodesOf(root);
  const records = networks.map(([, record]) => encode(record));
  const offsets = records.map((_, i) => Buffer.concat(records.slice(0, i)).length);
  const pointerOf = (child: Child) => {
    if (child === undefined) return nodes.length;
    return typeof child === 'number' ? nodes.length + separatorBytes + (offsets[child] ?? 0) : nodes.indexOf(child);
  };
  const tree = Buffer.alloc(nodes.length * 2 * recordBytes);
  nodes.flat().forEach((child, i) => {
    tree.writeUInt32BE(pointerOf(child), i * recordBytes);
  });
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_790_000_000,
    database_type: 'Test-City',
    description: { en: 'Places for tests' },
    ip_version: ipVersion,
    languages: ['en'],
    node_count: nodes.length,
    record_size: recordBytes * 8,
  });
  return Buffer.concat([tree, Buffer.alloc(separatorBytes), ...records, metadataMarker, metadata]);
}

/** The bits of a network's prefix in the file's tree of 128 bits, where IPv4 lies under ::/96. */
function bitsOf(cidr: string): number[] {
  const [address = '', prefix = ''] = cidr.split('/');
  const bits = isIPv4(address)
    ? `${'0'.repeat(96)}${address
        .split('.')
        .map((part) => binary(Number(part), 8))
        .join('')}`
    : groupsOf(address)
        .map((group) => binary(Number.parseInt(group, 16), 16))
        .join('');
  return [...bits].slice(0, Number(prefix) + (isIPv4(address) ? 96 : 0)).map(Number);
}

const binary = (value: number, digits: number) => value.toString(2).padStart(digits, '0');

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): string[] {
  const [head = [], tail = []] = address.split('::').map((side) => side.split(':').filter((group) => group !== ''));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
}

/** Hangs a record under its prefix; a shorter prefix that was there goes on for what lies beside. */
function place(root: Node, bits: readonly number[], record: number): void {
  let node = root;
  for (const bit of bits.slice(0, -1)) {
    const child = node[bit === 0 ? 0 : 1];
    const next: Node = Array.isArray(child) ? child : [child, child];
    node[bit === 0 ? 0 : 1] = next;
    node = next;
  }
  node[bits.at(-1) === 0 ? 0 : 1] = record;
}

function nodesOf(root: Node): Node[] {
  const nodes = [root];
  for (const node of nodes) nodes.push(...node.filter((child) => Array.isArray(child)));
  return nodes;
}

const types = { string: 2, uint32: 6, map: 7, array: 11 } as const;

function encode(value: Value): Buffer {
  if (typeof value === 'string') return withHead(types.string, Buffer.byteLength(value), Buffer.from(value));
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return withHead(types.uint32, bytes.length, bytes);
  }
  if (Array.isArray(value)) return withHead(types.array, value.length, ...value.map(encode));
  const entries = Object.entries(value);
  return withHead(types.map, entries.length, ...entries.flatMap(([key, item]) => [encode(key), encode(item)]));
}

/** Types above 7 are told in a second byte, sizes above 28 in one byte more. */
function withHead(type: number, size: number, ...content: Buffer[]): Buffer {
  const shortSize = Math.min(size, 29);
  const head = type > 7 ? [shortSize, type - 7] : [(type << 5) | shortSize];
  if (shortSize === 29) head.push(size - 29);
  return Buffer.concat([Buffer.from(head), ...content]);
}
