import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toPage, toReferrer } from './url.ts';

const page = (url: string) => {
  const { host, path, query } = toPage(url);
  return [host, path, query];
};

test.each([
  ['', '', '', ''],
  ['/', '', '/', ''],
  ['/a/b?x=1&y=2', '', '/a/b', 'x=1&y=2'],
  ['https://shop.example:8443/a/b?x=1&y=2#frag', 'shop.example', '/a/b#frag', 'x=1&y=2'],
  ['https://user:pw@Shop.Example/p', 'shop.example', '/p', ''],
  ['https://[2001:db8::1]:8080/p', '[2001:db8::1]', '/p', ''],
  ['https://shop.example', 'shop.example', '/', ''],
  ['https://shop.example?x=1', 'shop.example', '/', 'x=1'],
  ['https://shop.example#top', 'shop.example', '/#top', ''],
  ['a/b', '', '/a/b', ''],
  ['?x=1', '', '/', 'x=1'],
  ['?', '', '/', ''],
  ['#', '', '/', ''],
  ['/a#', '', '/a', ''],
  ['/a?#', '', '/a', ''],
  ['/#/route?x=1', '', '/#/route?x=1', ''],
  ['/a?next=http://x.example/#b', '', '/a#b', 'next=http://x.example/'],
  ['/a?b=1?c=2', '', '/a', 'b=1?c=2'],
  ['/caf%C3%A9/%C5%BC?q=%C3%A9', '', '/café/ż', 'q=%C3%A9'],
  ['/a%2Fb', '', '/a%2Fb', ''],
  ['/c++/a+b', '', '/c++/a+b', ''],
  ['/%E0%A4%A', '', '/%E0%A4%A', ''],
  ['/a%00b', '', '/ab', ''],
  // Kept as odd paths: nothing here is ever fetched or run.
  ['//evil.example/x', '', '//evil.example/x', ''],
  ['javascript:alert(1)', '', '/javascript:alert(1)', ''],
  ['data:text/html,x', '', '/data:text/html,x', ''],
  ['C:\\x', '', '/C:\\x', ''],
  ['http://', '', '/', ''],
  ['http://[', '[', '/', ''],
  ['file:///C:/x', '', '/C:/x', ''],
])('the url %s: host %s, path %s, query %s', (url, ...expected) => {
  expect(page(url)).toEqual(expected);
});

test('path and query are cut to 2,000 characters each, and campaign values are read before the cut', () => {
  const { path, query, campaign } = toPage(`/${'x'.repeat(5_000)}?a=${'y'.repeat(5_000)}&utm_source=late`);
  expect([path.length, query.length, campaign.utmSource]).toEqual([2_000, 2_000, 'late']);
});

test('an encoded path is cut after it was decoded, at a character border', () => {
  expect(toPage(`/${'%F0%9F%98%80'.repeat(1_200)}`).path).toBe(`/${'😀'.repeat(999)}`);
});

test.each([
  ['', '', '', ''],
  ['https://www.search.example/find?q=shoes', 'search.example', '/find', 'q=shoes'],
  ['https://Blog.Example:8080/a#b', 'blog.example', '/a#b', ''],
  ['android-app://com.mail/', 'com.mail', '/', ''],
  ['https://xn--bcher-kva.example/x', 'xn--bcher-kva.example', '/x', ''],
  ['https://bücher.example/x', 'xn--bcher-kva.example', '/x', ''],
  ['https://www.bücher.example/x', 'xn--bcher-kva.example', '/x', ''],
  ['https://192.0.2.1/x', '192.0.2.1', '/x', ''],
  // The site itself and what names no host.
  ['https://shop.example/before', '', '/before', ''],
  ['https://www.shop.example:8443/before', '', '/before', ''],
  ['/before?x=1', '', '/before', 'x=1'],
  ['about:blank', '', '/about:blank', ''],
  ['not a url', '', '/not a url', ''],
  ['http://[::1', '', '/', ''],
  ['https:/', '', '/https:/', ''],
  ['https://a b/x', '', '/x', ''],
])('the referrer %s: domain %s, path %s, query %s', (referrer, ...expected) => {
  const { domain, path, query } = toReferrer(referrer, 'shop.example');
  expect([domain, path, query]).toEqual(expected);
});

test('a host of 255 characters has a domain, a longer one can be none; the length of the rest does not matter', () => {
  const host = (length: number) => `${'a'.repeat(length - 8)}.example`;
  const domainOf = (referrer: string) => toReferrer(referrer, '').domain;
  expect(domainOf(`https://${host(255)}/${'x'.repeat(3_000)}`)).toBe(host(255));
  expect(domainOf(`https://${host(256)}/`)).toBe('');
  expect(domainOf(`https://${'文'.repeat(16_000)}.example/`)).toBe('');
});

test("the site's own host is recognised with port, www. and in any case", () => {
  for (const own of ['shop.example', 'www.shop.example', 'SHOP.example:8080'])
    expect(toReferrer('https://shop.example/x', own).domain).toBe('');
  expect(toReferrer('https://shop.example/x', '').domain).toBe('shop.example');
});

test('no text makes it throw, and what is stored is well-formed and within its limits', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.webUrl({ withFragments: true }), (odd, url) => {
      for (const text of [odd, url, url + odd, odd + url]) {
        const { path, query } = toPage(text.toWellFormed());
        expect(path.isWellFormed() && path.length <= 2_000 && query.length <= 2_000).toBe(true);
        toReferrer(text, odd);
      }
    }),
  );
});
