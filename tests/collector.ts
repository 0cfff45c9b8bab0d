import { request as httpRequest } from 'node:http';
import { type Answer, type Api, always, eventually, type Stats } from './api-client.ts';

/**
 * POST with exactly the headers given, as senders that are not browsers and not fetch do it; a string or Buffer is sent
 * as it is.
 */
export function post(url: string, headers: Record<string, string>, body: unknown): Promise<Answer> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { ...headers, 'content-length': bytes.length }, agent: false };
    const request = httpRequest(url, options, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(
            Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
          ),
          text,
          body: response.headers['content-type']?.includes('json') ? JSON.parse(text) : undefined,
        });
      });
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

/** What an accepted event is answered with. */
export type Accepted = { cache: string; sessionId: string; visitId: string };

/** The answer's body; throws when the event was not accepted. */
export function accepted(answer: Answer): Accepted {
  const body = answer.body as Partial<Accepted> | undefined;
  const { cache, sessionId, visitId } = body ?? {};
  if (answer.status !== 200 || cache === undefined || sessionId === undefined || visitId === undefined)
    throw new Error(`${answer.status} ${answer.text.slice(0, 300)}`);
  return { cache, sessionId, visitId };
}

/** A row of the event log, as far as tests look at it. */
export type LoggedEvent = {
  sessionId: string;
  createdAt: string;
  urlPath: string;
  urlQuery: string;
  referrerDomain: string;
  referrerPath: string;
  pageTitle: string;
  hostname: string;
  eventType: number;
  eventName: string;
  distinctId: string;
  hasData: boolean;
  browser: string;
  os: string;
  device: string;
  country: string;
  tag: string;
};

/**
 * The website's event log, oldest first, as soon as it has `count` events that fit `query`, a page of 1,000 at most,
 * and the five numbers know its pageviews: a block is in the log a moment before it is in the rollups.
 */
export async function loggedEvents(
  api: Api,
  websiteId: string,
  count: number,
  query: Record<string, string | number> = {},
): Promise<LoggedEvent[]> {
  const { data } = await eventually(
    () =>
      api.get<{ data: LoggedEvent[] }>(`/websites/${websiteId}/events`, {
        ...always(),
        pageSize: 1000,
        ...query,
      }),
    (answer) => answer.data.length >= count,
  );
  if (data.length !== count) throw new Error(`${data.length} events instead of ${count}: ${JSON.stringify(data)}`);
  const pageviews = async () =>
    (await api.get<{ count: number }>(`/websites/${websiteId}/events`, { ...always(), pageSize: 1, eventType: 1 }))
      .count;
  await eventually(
    async () => [(await statsOf(api, websiteId)).pageviews, await pageviews()],
    ([counted, logged]) => counted === logged && (counted ?? 0) >= data.filter((event) => event.eventType === 1).length,
  );
  return data.toReversed();
}

/** The five numbers of everything that the website has, or of what fits `query`. */
export function statsOf(api: Api, websiteId: string, query: Record<string, string | number> = {}): Promise<Stats> {
  return api.get<Stats>(`/websites/${websiteId}/stats`, { ...always(), ...query });
}

/** A ranking as an object from value to count. */
export async function ranking(api: Api, websiteId: string, type: string): Promise<Record<string, number>> {
  const rows = await api.get<{ x: string; y: number }[]>(`/websites/${websiteId}/metrics`, { ...always(), type });
  return Object.fromEntries(rows.map(({ x, y }) => [x, y]));
}
