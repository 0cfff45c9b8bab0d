import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodePath, decodeQueryValue } from './percent-decode.ts';

test.each([
  ['/caf%C3%A9/%C5%BC%C3%B3%C5%82w', '/café/żółw'],
  ['/%F0%9F%98%80', '/😀'],
  ['/a%20b', '/a b'],
  ['/100%25/x', '/100%/x'],
  ['/a%252Fb', '/a%2Fb'],
  ['/a%2Fb%3F%23%26%2b', '/a%2Fb%3F%23%26%2b'],
  ['/c++/a+b', '/c++/a+b'],
  // What is not valid stays as sent, the rest around it is decoded.
  ['/%E0%A4%A', '/%E0%A4%A'],
  ['/%', '/%'],
  ['/%zz/%C3%A9', '/%zz/é'],
  ['/%C3/%C3%A9', '/%C3/é'],
  ['/%ED%A0%80', '/%ED%A0%80'],
  ['/%C0%AF', '/%C0%AF'],
  ['/%F5%80%80%80', '/%F5%80%80%80'],
])('the path %s is stored as %s', (sent, stored) => {
  expect(decodePath(sent)).toBe(stored);
});

test.each([
  ['spring+sale', 'spring sale'],
  ['a%2Bb%26c', 'a+b&c'],
  ['%E0%A4%A', '%E0%A4%A'],
  ['żółw', 'żółw'],
])('the query value %s means %s', (sent, value) => {
  expect(decodeQueryValue(sent)).toBe(value);
});

test('whatever decodeURI and decodeURIComponent can decode is decoded the same way', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(decodePath(encodeURIComponent(text))).toBe(decodeURI(encodeURIComponent(text)));
      expect(decodeQueryValue(encodeURIComponent(text))).toBe(text);
    }),
  );
});

test('no text makes it throw or gives ill-formed Unicode', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('%', '%E0', '%A4', '%ed', '%f4', '%9', 'A0', 'z', '%25')), (parts) => {
      expect(decodePath(parts.join('')).isWellFormed()).toBe(true);
    }),
  );
});
