import { expect, test } from 'vitest';
import { parseClickHouseUrl } from './clickhouse-url.ts';

test('the database is meridian unless the path or ?database names one', () => {
  const address = { url: 'http://127.0.0.1:8123', username: 'default', password: '', database: 'meridian' };
  expect(parseClickHouseUrl('http://127.0.0.1:8123')).toEqual(address);
  expect(parseClickHouseUrl('http://127.0.0.1:8123/test_1')).toEqual({ ...address, database: 'test_1' });
  expect(parseClickHouseUrl('http://127.0.0.1:8123/?database=test_2')).toEqual({ ...address, database: 'test_2' });
});

test('user and password are taken from the URL, decoded', () => {
  const { username, password, url } = parseClickHouseUrl('https://reader:p%40ss%2Fword@clickhouse.example:8443/stats');
  expect([username, password, url]).toEqual(['reader', 'p@ss/word', 'https://clickhouse.example:8443']);
});

test('what is no URL of ClickHouse is refused, without showing the password', () => {
  for (const text of [
    '',
    'clickhouse:9000',
    'tcp://u:secret@h:1/x',
    'http://u:secret@h:1/a`b',
    'http://u:secret@h:1/a/b',
  ]) {
    expect(() => parseClickHouseUrl(text)).toThrow(/ClickHouse/);
    expect(() => parseClickHouseUrl(text)).not.toThrow(/secret/);
  }
});
