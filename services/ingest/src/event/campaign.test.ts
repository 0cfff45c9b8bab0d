import { expect, test } from 'vitest';
import { readCampaign } from './campaign.ts';

const found = (query: string) => Object.fromEntries(Object.entries(readCampaign(query)).filter(([, value]) => value));

test.each([
  ['', {}],
  ['x=1&page=2', {}],
  [
    'utm_source=ads&utm_medium=paid&utm_campaign=spring&utm_content=a&utm_term=b',
    {
      utmSource: 'ads',
      utmMedium: 'paid',
      utmCampaign: 'spring',
      utmContent: 'a',
      utmTerm: 'b',
    },
  ],
  [
    'gclid=1&fbclid=2&msclkid=3&ttclid=4&li_fat_id=5&twclid=6',
    {
      gclid: '1',
      fbclid: '2',
      msclkid: '3',
      ttclid: '4',
      liFatId: '5',
      twclid: '6',
    },
  ],
  ['UTM_Source=first&utm_source=second', { utmSource: 'first' }],
  ['utm_source=&utm_source=b', { utmSource: 'b' }],
  ['utm_source', {}],
  ['utm_source&x=1', {}],
  ['utm_medium=', {}],
  ['utm_source=%00', {}],
  ['utm_source=a%00b', { utmSource: 'ab' }],
  ['utm_campaign=spring+sale%21&utm_term=%E0%A4%A', { utmCampaign: 'spring sale!', utmTerm: '%E0%A4%A' }],
  ['utm_source=a=b', { utmSource: 'a=b' }],
  ['my_utm_source=a&utm_sources=b&=&&', {}],
])('%s', (query, campaign) => {
  expect(found(query)).toEqual(campaign);
});

test('values are cut to 255 characters, wherever in a long query they stand', () => {
  expect(found(`x=${'y'.repeat(9_000)}&utm_source=${'s'.repeat(2_000)}`).utmSource).toBe('s'.repeat(255));
});
