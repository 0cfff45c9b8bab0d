import { textLimits } from '@meridian/contract/collect';
import { decodeQueryValue } from '@meridian/contract/percent-decode';
import { cutText, withoutNul } from '@meridian/contract/text';

/** UTM values and click ids of the visited page's address; '' = not set. */
export type Campaign = {
  utmSource: string;
  utmMedium: string;
  utmCampaign: string;
  utmContent: string;
  utmTerm: string;
  gclid: string;
  fbclid: string;
  msclkid: string;
  ttclid: string;
  liFatId: string;
  twclid: string;
};

const fieldOfParameter = new Map<string, keyof Campaign>([
  ['utm_source', 'utmSource'],
  ['utm_medium', 'utmMedium'],
  ['utm_campaign', 'utmCampaign'],
  ['utm_content', 'utmContent'],
  ['utm_term', 'utmTerm'],
  ['gclid', 'gclid'],
  ['fbclid', 'fbclid'],
  ['msclkid', 'msclkid'],
  ['ttclid', 'ttclid'],
  ['li_fat_id', 'liFatId'],
  ['twclid', 'twclid'],
]);
const nameMinLength = 'gclid'.length;
const nameMaxLength = 'utm_campaign'.length;

function emptyCampaign(): Campaign {
  return {
    utmSource: '',
    utmMedium: '',
    utmCampaign: '',
    utmContent: '',
    utmTerm: '',
    gclid: '',
    fbclid: '',
    msclkid: '',
    ttclid: '',
    liFatId: '',
    twclid: '',
  };
}

const noCampaign: Readonly<Campaign> = Object.freeze(emptyCampaign());

/** Reads the whole query (before it is cut for storage): names in any case, the first value that is not empty wins. */
export function readCampaign(query: string): Readonly<Campaign> {
  let campaign: Campaign | null = null;
  for (let start = 0; start < query.length; ) {
    let end = query.indexOf('&', start);
    if (end === -1) end = query.length;
    const equals = query.indexOf('=', start);
    const nameLength = equals - start;
    if (equals < end && nameLength >= nameMinLength && nameLength <= nameMaxLength) {
      const field = fieldOfParameter.get(query.slice(start, equals).toLowerCase());
      if (field !== undefined && !campaign?.[field]) {
        campaign ??= emptyCampaign();
        campaign[field] = cutText(withoutNul(decodeQueryValue(query.slice(equals + 1, end))), textLimits.campaign);
      }
    }
    start = end + 1;
  }
  return campaign ?? noCampaign;
}
