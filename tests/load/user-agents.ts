/** The browsers that most visitors use, of different kinds and versions. */
export const commonUserAgents = Array.from({ length: 200 }, (_, n) => userAgentOf(n, `${100 + (n >> 3)}.0`));

/** A browser of a build that only few have; there are thousands of them. */
export const rareUserAgent = (n: number): string => userAgentOf(n, `${100 + (n % 40)}.${n % 5_000}`);

function userAgentOf(n: number, version: string): string {
  const chrome = (system: string, more = '') =>
    `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0 ${more}Safari/537.36`;
  const firefox = `rv:${version}) Gecko/20100101 Firefox/${version}`;
  const safari = `AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version}`;
  const kinds = [
    chrome('Windows NT 10.0; Win64; x64'),
    chrome('Macintosh; Intel Mac OS X 10_15_7'),
    chrome(`Linux; Android ${8 + (n % 7)}; Pixel ${n % 9}`, 'Mobile '),
    `${chrome('Windows NT 10.0; Win64; x64')} Edg/${version}.0.0`,
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64; ${firefox}`,
    `Mozilla/5.0 (X11; Linux x86_64; ${firefox}`,
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_${n % 7} like Mac OS X) ${safari} Mobile/15E148 Safari/604.1`,
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${safari} Safari/605.1.15`,
  ];
  return kinds[n % kinds.length] ?? '';
}
