import { expect, test } from 'vitest';
import { createCollectPaths } from './collect-paths.ts';

const routeOf = createCollectPaths(['us']);

test.each([
  ['/api/send', 'send'],
  ['/api/send/', 'send'],
  ['/v1/send', 'send'],
  ['/v1/us/send', 'send'],
  ['/api/batch', 'batch'],
  ['/v1/us/batch/', 'batch'],
  ['/api/send?x=/api/batch', 'send'],
  ['http://collect.example/api/send?x=1', 'send'],
])('%s is %s', (target, route) => {
  expect(routeOf(target)).toBe(route);
});

test.each([
  '/',
  '',
  '*',
  '/send',
  '/api/sends',
  '/api/send/x',
  '/api//send',
  '/API/SEND',
  '/api/send%2F',
  '/api/./send',
  '/v1/eu/send',
  '/v1/US/send',
  '/v1/us/us/send',
  '/api/us/send',
  'http://collect.example',
  '//api/send',
])('%s is not ours', (target) => {
  expect(routeOf(target)).toBeNull();
});
