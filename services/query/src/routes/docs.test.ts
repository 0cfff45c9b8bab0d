import { getRequestListener } from '@hono/node-server';
import { listen } from '@meridian/runtime/http/server';
import { rawExchange } from '@meridian/runtime/http/test-raw-exchange';
import { expect, test } from 'vitest';
import { docsRoutes } from './docs.ts';
import { docsPage } from './docs-page.ts';

const routes = docsRoutes();

/** Where the links of the page lead when it is read at `path`. */
const linksAt = (path: string) =>
  [...docsPage(path).matchAll(/(?:href|src)="([^"]+)"/g)]
    .map(([, link = '']) => new URL(link, `http://meridian.example${path}`))
    .filter(({ protocol }) => protocol !== 'data:')
    .map(({ pathname }) => pathname);

test.each(['', '/api', '/v1', '/v1/us'])(
  'the page at %s/docs, with and without a slash behind, has its files and the document beside it',
  (prefix) => {
    const files = ['/openapi.json', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/page.js'];
    const expected = files.map((file) => `${prefix}${file}`).sort();
    expect([...new Set(linksAt(`${prefix}/docs`))].sort()).toEqual(expected);
    expect([...new Set(linksAt(`${prefix}/docs/`))].sort()).toEqual(expected);
  },
);

test('every file of the page is served by us, with its type; browsers load nothing from elsewhere and run no inline script', async () => {
  for (const [path, type] of [
    ['/docs', 'text/html'],
    ...linksAt('/docs').flatMap((link) =>
      link === '/openapi.json' ? [] : [[link, link.endsWith('.css') ? 'text/css' : 'text/javascript']],
    ),
  ] as [string, string][]) {
    const answer = await routes.request(path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining(type)]);
    expect((await answer.text()).length).toBeGreaterThan(100);
    const policy = answer.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  }
  expect(docsPage('/docs')).not.toMatch(/<script>|<style|style=| on\w+=|https?:/);
});

test('a file is sent again only when it is another one, and compressed if the browser can read that', async () => {
  const path = '/docs/swagger-ui-bundle.js';
  const plain = await routes.request(path);
  const packed = await routes.request(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(packed.headers.get('content-encoding')).toBe('gzip');
  const size = async (answer: Response) => (await answer.arrayBuffer()).byteLength;
  expect(await size(packed)).toBeLessThan((await size(plain)) / 2);
  for (const etag of [plain, packed].map((answer) => answer.headers.get('etag') ?? '')) {
    const again = await routes.request(path, { headers: { 'if-none-match': etag } });
    expect([again.status, await size(again), again.headers.get('cache-control')]).toEqual([304, 0, 'no-cache']);
  }
});

test('what is sent compressed was so before: its length is known', async () => {
  const server = await listen(getRequestListener(routes.fetch), { port: 0, host: '127.0.0.1' });
  for (const path of ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
    const headers = 'Connection: close\r\nAccept-Encoding: gzip\r\n';
    const said = await rawExchange(server.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    const [head = '', ...body] = said.split('\r\n\r\n');
    const length = /^content-length: (\d+)\r$/im.exec(head)?.[1];
    expect([/^content-encoding: gzip\r$/im.test(head), Number(length)]).toEqual([true, body.join('\r\n\r\n').length]);
  }
  await server.close(0);
});
