import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError } from '@meridian/runtime/process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nowhere, openGeo } from './geo.ts';
import { buildMmdb } from './mmdb-fixture.ts';

// Real files on disk, as an operator gives them in GEOIP_DB.
let folder: string;
const cityFile = buildMmdb([
  ['81.2.69.0/24', { country: { iso_code: 'GB', names: { en: 'United Kingdom' } }, registered_country: {} }],
  [
    '81.2.69.160/27',
    {
      country: { iso_code: 'GB', names: { en: 'United Kingdom', 'pt-BR': 'Reino Unido' } },
      subdivisions: [
        { iso_code: 'ENG', names: { en: 'England', fr: 'Angleterre' } },
        { iso_code: 'WBK', names: { en: 'West Berkshire' } },
      ],
      city: { geoname_id: 2_643_743, names: { de: 'Londen', en: 'London', ja: 'ロンドン' } },
      location: { time_zone: 'Europe/London' },
    },
  ],
  [
    '2001:db8:1000::/36',
    { country: { iso_code: 'BR' }, subdivisions: [{ iso_code: 'SP' }], city: { names: { 'pt-BR': 'São Paulo' } } },
  ],
  ['2a02:d000::/24', { country: { iso_code: 'IT' }, city: { names: { en: 'L’Aquila' } } }],
]);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-geo-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fileOf(content: Buffer): Promise<string> {
  const path = join(folder, `${content.length}-${content.readUInt32BE(0)}.mmdb`);
  await writeFile(path, content);
  return path;
}

test.each([
  ['81.2.69.160', { country: 'GB', region: 'GB-ENG', city: 'London' }],
  ['81.2.69.191', { country: 'GB', region: 'GB-ENG', city: 'London' }],
  // The same country, but a record without city.
  ['81.2.69.192', { country: 'GB', region: '', city: '' }],
  ['81.2.69.1', { country: 'GB', region: '', city: '' }],
  ['2001:db8:1fff::1', { country: 'BR', region: 'BR-SP', city: 'São Paulo' }],
  ['2a02:d0ff::', { country: 'IT', region: '', city: 'L’Aquila' }],
  ['81.2.70.1', nowhere],
  ['2001:db8:2000::', nowhere],
  ['2a02:d100::', nowhere],
])('a city file says of %s what its record says', async (address, place) => {
  expect((await openGeo(await fileOf(cityFile)))(address)).toEqual(place);
});

test('the file that GEOIP_DB names counts alone, the one that comes along is not asked', async () => {
  expect((await openGeo(await fileOf(cityFile)))('8.8.8.8')).toEqual(nowhere);
});

test('a file of IPv4 networks says nothing of IPv6 addresses', async () => {
  const find = await openGeo(await fileOf(buildMmdb([['32.0.0.0/8', { country: { iso_code: 'US' } }]], 4)));
  expect(find('32.1.13.184').country).toBe('US');
  // Its first 32 bits are those of 32.1.13.184.
  expect(find('2001:db8::1')).toEqual(nowhere);
});

test.each([
  ['is none of this format', Buffer.from('<html>Not found</html>'.repeat(100))],
  ['has lost its end', cityFile.subarray(0, cityFile.length - 200)],
  ['has lost its beginning', cityFile.subarray(100)],
  ['is of an archive', Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(4_000, 7)])],
])('a file that %s stops the start with a sentence that names GEOIP_DB and the file', async (_, content) => {
  const path = await fileOf(content);
  const failure = await openGeo(path).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartError);
  expect(String(failure)).toContain(`GEOIP_DB: ${path} cannot be used`);
});

test('so does a file that is missing, and a folder', async () => {
  await expect(openGeo(join(folder, 'city.mmdb'))).rejects.toThrow(/^GEOIP_DB: \S+city\.mmdb cannot be used: ENOENT/);
  await expect(openGeo(folder)).rejects.toThrow(/^GEOIP_DB: .*EISDIR/);
});
