import { randomBytes } from 'node:crypto';

export const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';

/** A name that no other test uses. */
export const unique = (prefix: string) => `${prefix}-${randomBytes(4).toString('hex')}`;

export type Answer = { status: number; headers: Headers; text: string; body: unknown };

/** One request on a connection of its own, so that a server that is being killed breaks only its own requests. */
export async function request(
  method: string,
  url: string,
  options: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { connection: 'close', 'content-type': 'application/json', ...options.headers },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The public API as a customer calls it. `base` ends in /api or /v1/<region>. */
export type Api = {
  /** @throws when the answer is not 200 */
  ok<T>(method: string, path: string, body?: unknown): Promise<T>;
  get<T>(path: string, query?: Record<string, string | number>): Promise<T>;
};

export function createApi(base: string, token: string): Api {
  const headers = { authorization: `Bearer ${token}` };
  async function ok<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await request(method, `${base}${path}`, { headers, ...(body !== undefined && { body }) });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer.body as T;
  }
  const queryString = (query: Record<string, string | number>) =>
    new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
  return { ok, get: (path, query = {}) => ok('GET', `${path}?${queryString(query)}`) };
}

export async function logIn(base: string, username: string, password: string): Promise<Api> {
  const answer = await request('POST', `${base}/auth/login`, { body: { username, password } });
  if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text.slice(0, 300)}`);
  return createApi(base, (answer.body as { token: string }).token);
}

export type Website = { id: string; name: string; domain: string };

export function createWebsite(api: Api): Promise<Website> {
  const name = unique('site');
  return api.ok('POST', '/websites', { name, domain: `${name}.example.com` });
}

/** From long ago until tomorrow. */
export const always = () => ({ startAt: 0, endAt: Date.now() + 86_400_000 });

export type Stats = { pageviews: number; visitors: number; visits: number; bounces: number; totaltime: number };

/** Asks again until the value is accepted; fails with the last one after `timeoutMs`. */
export async function eventually<T>(
  probe: () => Promise<T>,
  accept: (value: T) => boolean,
  timeoutMs = 30_000,
): Promise<T> {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (accept(value)) return value;
    if (Date.now() > deadlineMs) throw new Error(`not reached in ${timeoutMs} ms; last: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Every urlPath of the website's event log, as often as it stands there. */
export async function allPaths(api: Api, websiteId: string): Promise<string[]> {
  const paths: string[] = [];
  for (let page = 1; ; page++) {
    const { data } = await api.get<{ data: { urlPath: string }[] }>(`/websites/${websiteId}/events`, {
      ...always(),
      page,
      pageSize: 1000,
    });
    paths.push(...data.map((row) => row.urlPath));
    if (data.length < 1000) return paths;
  }
}
