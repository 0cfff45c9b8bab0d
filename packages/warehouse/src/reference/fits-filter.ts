import type { EventRow } from '../event-row.ts';
import type { Comparison, Filter, FilterName, Selection } from '../question.ts';

const fieldOf = {
  path: 'urlPath',
  referrer: 'referrerDomain',
  title: 'pageTitle',
  query: 'urlQuery',
  os: 'os',
  browser: 'browser',
  device: 'device',
  country: 'country',
  region: 'region',
  city: 'city',
  language: 'language',
  event: 'eventName',
  utmSource: 'utmSource',
  utmMedium: 'utmMedium',
  utmCampaign: 'utmCampaign',
  utmContent: 'utmContent',
  utmTerm: 'utmTerm',
  tag: 'tag',
  hostname: 'hostname',
  distinctId: 'distinctId',
} as const satisfies Record<FilterName, keyof EventRow>;

const ignoringCase: FilterName[] = ['os', 'browser', 'device', 'country', 'region', 'city', 'language'];

/** Whether a row fits the filters together (docs/semantics.md "Filters"). */
export function fitsSelection(row: EventRow, { filters, match }: Selection): boolean {
  const results = filters.map((filter) => fitsFilter(row, filter));
  return results.length === 0 || (match === 'any' ? results.includes(true) : !results.includes(false));
}

function fitsFilter(row: EventRow, filter: Filter): boolean {
  return 'anyOf' in filter ? filter.anyOf.some((comparison) => compares(row, comparison)) : compares(row, filter);
}

function compares(row: EventRow, { name, op, values }: Comparison): boolean {
  const text = row[fieldOf[name]];
  const equal = () => values.some((value) => equals(name, row, value));
  const contains = () => values.some((value) => containsText(text, value));
  const matches = () => values.some((value) => new RegExp(value, 'iu').test(text));
  switch (op) {
    case 'eq':
      return equal();
    case 'neq':
      return !equal();
    case 'c':
      return contains();
    case 'dnc':
      return !contains();
    case 're':
      return matches();
    case 'nre':
      return !matches();
    case 's':
      return text !== '';
    case 'ns':
      return text === '';
  }
}

/** Whether a text has the other in it, in whatever letter case; both small sigmas are one letter. */
export const containsText = (text: string, part: string): boolean => withoutCase(text).includes(withoutCase(part));

const withoutCase = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');

function equals(name: FilterName, row: EventRow, value: string): boolean {
  const text = row[fieldOf[name]];
  if (name === 'referrer') return fitsReferrer(row, value);
  if (!ignoringCase.includes(name)) return text === value;
  if (name === 'language') return `${tagOf(text)}-`.startsWith(`${tagOf(value)}-`);
  const [stored, wanted] = [withoutCase(text), withoutCase(value)];
  if (name === 'device' && wanted === 'laptop') return stored === 'desktop';
  return stored === wanted;
}

/** `en_US` is `en-US`. */
const tagOf = (language: string) => withoutCase(language).replaceAll('_', '-');

function fitsReferrer({ referrerDomain, referrerPath }: EventRow, value: string): boolean {
  const [, domain = '', path = ''] = /^([^/]*)(.*)$/s.exec(value) ?? [];
  return referrerDomain === domain && (path === '' || (referrerPath || '/') === path);
}
