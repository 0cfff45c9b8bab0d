import { expect, test } from 'vitest';
import { CreateWebsiteBody, UpdateWebsiteBody, WebsiteListQuery } from './websites.ts';

const domainOf = (domain: unknown) => {
  const parsed = CreateWebsiteBody.safeParse({ name: 'Shop', domain });
  return parsed.success ? parsed.data.domain : null;
};

test.each([
  ['https://a.example.com', 'a.example.com'],
  ['a.example.com/', 'a.example.com'],
  ['HTTP://a.example.com:8080/', 'a.example.com:8080'],
  ['localhost', 'localhost'],
  ['localhost:3000', 'localhost:3000'],
  ['bücher.example', 'bücher.example'],
  ['購物.例え', '購物.例え'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['192.0.2.7', '192.0.2.7'],
])('%s is a domain and kept as %s', (given, kept) => {
  expect(domainOf(given)).toBe(kept);
});

test.each([
  '',
  '/',
  'https://',
  'a b',
  'a.example/path/x',
  '-a.example',
  'a-.example',
  'a..example',
  '.example',
  '<script>',
  "a.example'--",
  'user@a.example',
  'a.example:',
  'a.example:port',
  `${'x'.repeat(500)}.example`,
  null,
  5,
])('%j is no domain', (given) => {
  expect(domainOf(given)).toBeNull();
});

test('a domain has 1 to 500 characters when its scheme and the slash are off', () => {
  const longest = `${'x'.repeat(49)}.`.repeat(10).slice(0, -1).concat('y');
  expect(longest).toHaveLength(500);
  expect(domainOf(`https://${longest}/`)).toBe(longest);
  expect(domainOf(`${longest}x`)).toBeNull();
});

test('a domain of the greatest length is refused quickly when it does not fit', () => {
  expect(domainOf(`${'a-'.repeat(249)}!`)).toBeNull();
  for (const part of ['a-', 'a.', 'a', '/', 'a+']) expect(domainOf(`${part.repeat(500_000)}!`)).toBeNull();
});

test('an empty share id means none; null turns sharing off; left out it stays', () => {
  expect(UpdateWebsiteBody.parse({ shareId: '' })).toEqual({ shareId: null });
  expect(UpdateWebsiteBody.parse({ shareId: null })).toEqual({ shareId: null });
  expect(UpdateWebsiteBody.parse({})).toEqual({});
});

test.each(['x'.repeat(51), '../x', 'a b', 'ä', 5, {}])('%j is no share id', (shareId) => {
  expect(UpdateWebsiteBody.safeParse({ shareId }).success).toBe(false);
});

test.each([
  { sampleRate: -0.1 },
  { sampleRate: 1.1 },
  { sampleRate: '0.5' },
  { sampleRate: null },
  { maskLevel: 'STRICT' },
  { maxDuration: -1 },
  { maxDuration: 1e12 },
  { replayEnabled: 'yes' },
  { blockSelector: 'x'.repeat(100_000) },
  [],
  'x',
])('replayConfig %j is refused', (replayConfig) => {
  expect(UpdateWebsiteBody.safeParse({ replayConfig }).success).toBe(false);
});

test('the nil UUID is no website id, and ids are kept in lower case', () => {
  const body = { name: 'Shop', domain: 'a.example' };
  expect(CreateWebsiteBody.safeParse({ ...body, id: '00000000-0000-0000-0000-000000000000' }).success).toBe(false);
  const id = 'ABCDEF00-1111-4222-8333-444444444444';
  expect(CreateWebsiteBody.parse({ ...body, id }).id).toBe(id.toLowerCase());
});

test('a list has defaults and a page of at most 1,000', () => {
  expect(WebsiteListQuery.parse({})).toEqual({
    page: 1,
    pageSize: 20,
    search: '',
    orderBy: 'name',
    sortDescending: false,
  });
  expect(WebsiteListQuery.parse({ pageSize: '1000000000' }).pageSize).toBe(1000);
  for (const page of ['0', '-1', '1.5', 'abc', '10; DROP TABLE'])
    expect(WebsiteListQuery.safeParse({ page }).success).toBe(false);
});
