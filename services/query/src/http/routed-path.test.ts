import { expect, test } from 'vitest';
import { routedPath } from './routed-path.ts';

const us = { mode: 'self-hosted', region: 'us' } as const;
const routed = (path: string, config: Parameters<typeof routedPath>[1] = us) =>
  routedPath(`http://host:3000${path}`, config);

test('the three prefixes are one, with or without a trailing slash', () => {
  for (const prefix of ['/api', '/v1', '/v1/us'])
    for (const end of ['', '/', '?a=/b/', '/?a=1', '#x'])
      expect(routed(`${prefix}/websites${end}`), prefix + end).toBe('/api/websites');
  for (const prefix of ['/api', '/v1', '/v1/us']) expect(routed(prefix)).toBe('/api');
});

test('another region and another letter case stay in the path, where no route meets them', () => {
  expect(routed('/v1/eu/websites')).toBe('/api/eu/websites');
  expect(routed('/v1/US/websites')).toBe('/api/US/websites');
  expect(routed('/v1/usa/websites')).toBe('/api/usa/websites');
  expect(routed('/V1/websites')).toBe('/V1/websites');
});

test('on cloud there is nothing under /api', () => {
  expect(routed('/api/websites', { mode: 'cloud', region: 'us' })).not.toMatch(/^\/api/);
  expect(routed('/v1/websites', { mode: 'cloud', region: 'us' })).toBe('/api/websites');
});

test('odd spellings are not made right', () => {
  for (const path of ['/api//websites', '/api/websites//', '/api/websites%2F', '/api/%77ebsites', '/apiwebsites'])
    expect(routed(path), path).not.toBe('/api/websites');
  expect(routed('/')).toBe('/');
  expect(routedPath('http://host', us)).toBe('/');
});
