type Welcome = {
  /** Where it answers, e.g. http://localhost:3000 */
  origin: string;
  administrator: string;
  /** The administrator's password, only when this start has generated it; it is never shown again. */
  generatedPassword?: string;
  /** Where the login line puts its answer; the later lines take the token from there. */
  loginFile: string;
  /** A fresh UUID for the website of the example, so that no line has to read another one's answer. */
  websiteId: string;
};

/** The address to type on this machine; `host` is the one listened on, if only one is. */
export function originOf(host: string | undefined, port: number): string {
  const everywhere = host === undefined || host === '0.0.0.0' || host === '::';
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** Tells that everything works; comes first. */
export const readyLine = (origin: string) => `Meridian is ready at ${origin}`;

/** What `npm start` prints when everything works. Others script this: see README, "What it prints". */
export function welcomeText(welcome: Welcome): string {
  const { origin, administrator, generatedPassword } = welcome;
  const lines = [
    readyLine(origin),
    `Administrator: ${administrator}${generatedPassword === undefined ? '' : ` / ${generatedPassword}`}`,
    '',
    'Try it: log in, create a website, send an event, read its statistics.',
  ];
  if (generatedPassword === undefined)
    lines.push('(The first line takes the password of that account from $ADMIN_PASSWORD.)');
  return [...lines, ...curlLines(welcome)].join('\n');
}

/** The same where there are accounts and none of that name is an administrator, as when a cloud was begun with them. */
export function welcomeTextWithout(
  administrator: string,
  { origin, region }: { origin: string; region: string },
): string {
  const command = `REGION=${region} npx meridian create-account --username ${quote(administrator)} --role admin`;
  return `${readyLine(origin)}\nThere is no administrator called ${administrator} (ADMIN_USERNAME). To make one: ${command}`;
}

/** Quotes and backslashes of the password, as JSON wants them. */
const passwordAsJson = `printf %s "$ADMIN_PASSWORD" | sed 's/[\\\\"]/\\\\&/g'`;

function curlLines({ origin, administrator, generatedPassword, loginFile, websiteId }: Welcome): string[] {
  const api = `${origin}/api`;
  const json = `-H 'content-type: application/json'`;
  const token = `-H "authorization: Bearer $(sed -E 's/.*"token":"([^"]+)".*/\\1/' ${quote(loginFile)})"`;
  const login = JSON.stringify({ username: administrator, password: generatedPassword ?? 'PASSWORD' });
  const loginBody =
    generatedPassword === undefined ? quote(login).replace('PASSWORD', `'"$(${passwordAsJson})"'`) : quote(login);
  const website = quote(JSON.stringify({ id: websiteId, name: 'My website', domain: 'example.com' }));
  const event = quote(
    JSON.stringify({
      type: 'event',
      payload: { website: websiteId, url: '/hello', title: 'Hello', hostname: 'example.com' },
    }),
  );
  return [
    `curl -sS ${api}/auth/login ${json} -d ${loginBody} -o ${quote(loginFile)}`,
    `curl -sS ${api}/websites ${token} ${json} -d ${website}`,
    // An event is in the statistics within two seconds; pasted at once, the next line would come too early.
    `curl -sS ${api}/send ${json} -d ${event} && sleep 2`,
    `curl -sS ${api}/websites/${websiteId}/stats ${token}`,
  ];
}

/** One word for bash, whatever it holds. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
