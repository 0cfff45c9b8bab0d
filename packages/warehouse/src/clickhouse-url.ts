/** Where and as whom to reach ClickHouse. */
export type ClickHouseAddress = { url: string; username: string; password: string; database: string };

const databasePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Reads `http(s)://[user:password@]host:port[/database]`; `?database=` is understood as well. The database defaults to
 * `meridian`. Throws on anything else, without repeating the password.
 */
export function parseClickHouseUrl(text: string): ClickHouseAddress {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('The ClickHouse URL must begin with http:// or https://');
  const database = url.searchParams.get('database') || url.pathname.slice(1) || 'meridian';
  if (!databasePattern.test(database)) throw new Error(`Not a ClickHouse database name: ${database}`);
  return {
    url: url.origin,
    username: decodeURIComponent(url.username) || 'default',
    password: decodeURIComponent(url.password),
    database,
  };
}
