import { filterNames } from '@meridian/contract/statistics';
import { expect, test } from 'vitest';
import { parseFilters } from './parse-filters.ts';

const parse = (query: string) => parseFilters(new URLSearchParams(query));
const one = (query: string) => {
  const [filter, ...rest] = parse(query);
  expect(rest).toEqual([]);
  if (filter && 'anyOf' in filter) throw new Error(`${query} compares with several operators`);
  return filter;
};

test('every filter of the API is read by its name', () => {
  for (const name of filterNames) expect(parse(`${name}=x`), name).toEqual([{ name, op: 'eq', values: ['x'] }]);
});

test.each([
  ['url', 'path'],
  ['host', 'hostname'],
  ['pageTitle', 'title'],
  ['eventName', 'event'],
  ['utm_source', 'utmSource'],
  ['utm_medium', 'utmMedium'],
  ['utm_campaign', 'utmCampaign'],
  ['utm_content', 'utmContent'],
  ['utm_term', 'utmTerm'],
  ['distinct_id', 'distinctId'],
])('the old name %s means %s', (old, name) => {
  expect(one(`${old}=x`)?.name).toBe(name);
});

test('each operator is read, s and ns ignore what follows', () => {
  for (const op of ['eq', 'neq', 'c', 'dnc', 're', 'nre'])
    expect(one(`path=${op}./a`)).toEqual({ name: 'path', op, values: ['/a'] });
  for (const op of ['s', 'ns'])
    for (const rest of ['', 'true', ',']) expect(one(`path=${op}.${rest}`)).toEqual({ name: 'path', op, values: [] });
});

test('what only looks like an operator is plain, and eq. escapes', () => {
  for (const value of ['v1.html', 'gt.5', 't.x', 'EQ.x', '.x', 'eq', 'eqx', 's', 'toString.x'])
    expect(one(`title=${value}`), value).toEqual({ name: 'title', op: 'eq', values: [value] });
  expect(one('title=eq.c.html')).toEqual({ name: 'title', op: 'eq', values: ['c.html'] });
});

test('commas separate alternatives of plain, eq and neq, and the whole value is one too', () => {
  expect(one('path=/a,/b')).toEqual({ name: 'path', op: 'eq', values: ['/a,/b', '/a', '/b'] });
  expect(one('path=neq./a,,/b,')).toEqual({ name: 'path', op: 'neq', values: ['/a,,/b,', '/a', '/b'] });
  expect(one('path=c./a,/b')).toEqual({ name: 'path', op: 'c', values: ['/a,/b'] });
});

test('a repeated key adds alternatives, also with another operator; of one that denies, all must hold', () => {
  expect(one('path=/a&path=/b')).toEqual({ name: 'path', op: 'eq', values: ['/a', '/b'] });
  expect(one('path=neq./a&path=neq./b')).toEqual({ name: 'path', op: 'neq', values: ['/a', '/b'] });
  expect(parse('path=c.x&path=dnc.y&path=c.z&tag=s.&tag=')).toEqual([
    {
      anyOf: [
        { name: 'path', op: 'c', values: ['x', 'z'] },
        { name: 'path', op: 'dnc', values: ['y'] },
      ],
    },
    { name: 'tag', op: 's', values: [] },
  ]);
});

test('NUL is a value, not an empty one', () => {
  expect(one('path=%00')).toEqual({ name: 'path', op: 'eq', values: ['\0'] });
});

test('a number behind the name makes a condition of its own', () => {
  expect(parse('path=c.blog&path1=neq./blog&url22=/x')).toEqual([
    { name: 'path', op: 'c', values: ['blog'] },
    { name: 'path', op: 'neq', values: ['/blog'] },
    { name: 'path', op: 'eq', values: ['/x'] },
  ]);
});

test('empty values, unknown names and spellings of arrays and objects are ignored', () => {
  expect(
    parse('path=&title=eq.&os=c.&event=re.&colour=red&path[]=/a&path[$ne]=x&__proto__=x&constructor=x&1=x'),
  ).toEqual([]);
});

test('an expression of 200 characters is taken, whatever they are, one more is 400 and names the key', () => {
  expect(one(`path=re.${'😀'.repeat(200)}`)?.values).toEqual(['😀'.repeat(200)]);
  for (const op of ['re', 'nre'])
    expect(() => parse(`path1=${op}.${'a'.repeat(201)}`)).toThrow(
      expect.objectContaining({ code: 'bad-request', message: expect.stringMatching(/^path1:/) }),
    );
});

test('a referrer that is equal or not is read as collection stores it, whole and in its alternatives; a part of one is only text', () => {
  expect(one('referrer=https://a.example/x,y')?.values).toEqual(['a.example/x,y', 'a.example/x', 'y']);
  expect(one('referrer=neq.M%C3%BCnchen.de')?.values).toEqual(['xn--mnchen-3ya.de']);
  expect(one('referrer=eq.not a domain')).toEqual({ name: 'referrer', op: 'eq', values: [] });
  expect(one('referrer=c.M%C3%BCnchen')?.values).toEqual(['München']);
});

test('a value that is repeated is one alternative', () => {
  expect(one('path=c.a&path=c.b&path=c.a')?.values).toEqual(['a', 'b']);
});

test('a question has 150 comparisons at most: a list is one, of other operators each value is one', () => {
  const paths = (count: number, value: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => `path=${encodeURIComponent(value(i))}`).join('&');
  expect(parse(`${paths(150, (i) => `c.${i}`)}&title=&colour=x`)).toHaveLength(1);
  expect(one(paths(1_500, String))?.values).toHaveLength(1_500);
  const tooMany = expect.objectContaining({ code: 'bad-request', message: expect.stringMatching(/^tag1: .*150/) });
  expect(() => parse(`${paths(149, (i) => `nre.${i}`)}&tag=s.&tag1=x`)).toThrow(tooMany);
  expect(() => parse(`${paths(149, (i) => `dnc.${i}`)}&tag=a,b&tag1=ns.`)).toThrow(tooMany);
});
