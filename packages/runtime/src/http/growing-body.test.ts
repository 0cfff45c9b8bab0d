import { afterEach, expect, test } from 'vitest';
import { GrowingBody } from './growing-body.ts';

const mb = Buffer.alloc(1_048_576, 'x');
let held: GrowingBody[] = [];
afterEach(() => {
  for (const body of held) body.letGo();
  held = [];
});

function newBody(maxBytes = mb.length): GrowingBody {
  const body = new GrowingBody(maxBytes);
  held.push(body);
  return body;
}

/** So many bodies of 1 MB of which more could come. */
const hold = (count: number) =>
  Array.from({ length: count }, () => {
    const body = newBody(2 * mb.length);
    body.add(mb);
    return body;
  });
const refusals = (bodies: GrowingBody[]) => bodies.flatMap(({ refusal }, i) => (refusal ? [[i, refusal]] : []));

test('a body is what its parts are, and one of one part is that part', () => {
  for (const parts of [[], [''], ['a'], ['a', 'b', 'c'], ['', 'a', '', 'bc'], Array(5_000).fill('x')]) {
    const body = newBody();
    for (const part of parts) body.add(Buffer.from(part));
    expect(String(body.whole())).toBe(parts.join(''));
  }
  const body = newBody();
  body.add(mb);
  expect(body.whole()).toBe(mb);
});

test('a part is never written into, nor a body that was handed out', () => {
  const part = Buffer.from('abc');
  const body = newBody();
  for (const each of [part.subarray(0, 1), Buffer.from('X'), Buffer.from('Y')]) body.add(each);
  expect([String(body.whole()), String(part)]).toEqual(['aXY', 'abc']);
});

test('a body is given up with the byte that is too many, and told so once', () => {
  const told: string[] = [];
  const body = new GrowingBody(3, (refusal) => told.push(refusal));
  for (let i = 0; i < 6; i++) body.add(Buffer.from('x'));
  expect([body.refusal, body.whole(), told]).toEqual(['payload-too-large', null, ['payload-too-large']]);
});

test('128 MB are held; beyond, those give way of which nothing came for the longest', () => {
  const bodies = hold(128);
  expect(refusals(bodies)).toEqual([]);
  bodies[0]?.add(Buffer.alloc(0));
  const [latest] = hold(1);
  expect([latest?.refusal, refusals(bodies)]).toEqual([null, [[1, 'service-unavailable']]]);
  bodies[3]?.add(mb);
  expect(refusals(bodies).map(([i]) => i)).toEqual([1, 2]);
});

test('what a body takes of the memory counts, not what came of it; one that came whole takes no more than that', () => {
  const bodies = hold(64);
  for (const body of bodies) body.add(Buffer.from('x'));
  expect(refusals(bodies)).toEqual([]);
  const [latest] = hold(1);
  expect([latest?.refusal, refusals(bodies)]).toEqual([null, [[0, 'service-unavailable']]]);
  for (const body of bodies) body.whole();
  expect(refusals([...bodies.slice(1), ...hold(63)])).toEqual([]);
});

test('what came whole is not given up, and counts until it is let go of', () => {
  const used = hold(128);
  for (const body of used) body.whole();
  expect(refusals([...used, ...hold(3)])).toEqual([128, 129, 130].map((i) => [i, 'service-unavailable']));
  for (const body of used.slice(0, 2)) body.letGo();
  expect(refusals(hold(3))).toEqual([[0, 'service-unavailable']]);
});

test('what a body unpacks to takes the place of the packed one; all such have half of the memory', () => {
  const packed = hold(65);
  for (const body of packed) body.whole();
  expect(packed.map((body) => body.unpackTo(mb))).toEqual([...Array(64).fill(true), false]);
  expect(refusals(packed)).toEqual([[64, 'service-unavailable']]);
  expect(refusals(hold(64))).toEqual([]);
  packed[0]?.letGo();
  const [next] = hold(1);
  next?.whole();
  expect([next?.unpackTo(Buffer.concat([mb, mb])), next?.refusal]).toEqual([false, 'service-unavailable']);
});

test('what a body unpacks to is held before what grows, and not before what came whole', () => {
  const growing = hold(64);
  for (const body of hold(62)) body.whole();
  const unpacked = hold(2);
  for (const body of unpacked) body.whole();
  const twoMb = Buffer.concat([mb, mb]);
  expect(unpacked[0]?.unpackTo(twoMb)).toBe(true);
  expect(refusals(growing)).toEqual([[0, 'service-unavailable']]);
  for (const body of growing) body.whole();
  expect([unpacked[1]?.unpackTo(twoMb), unpacked[1]?.refusal]).toEqual([false, 'service-unavailable']);
});

test('bodies that were let go of, refused or too large leave nothing behind', () => {
  for (let round = 0; round < 3; round++) {
    for (const body of hold(200)) {
      body.whole();
      if (body.whole()) body.unpackTo(mb);
      body.letGo();
      body.letGo();
    }
    const tooLarge = newBody(mb.length + 1);
    for (const part of [mb, mb]) tooLarge.add(part);
    expect(refusals(hold(128))).toEqual([]);
    for (const body of held) body.letGo();
  }
});
