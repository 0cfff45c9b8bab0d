import { type FilterName, filterNames } from '../statistics.ts';

const meanings: Record<FilterName, string> = {
  path: 'Path of the page.',
  referrer: 'Where the visitor came from: a domain, or a URL.',
  title: 'Title of the page.',
  query: 'Query string of the page.',
  os: 'Operating system.',
  browser: 'Browser.',
  device: 'desktop, mobile or tablet.',
  country: 'Country, ISO 3166-1 alpha-2.',
  region: 'Region.',
  city: 'City.',
  language: 'Language of the browser; `en` fits `en-GB` too.',
  event: 'Name of a custom event.',
  utmSource: 'Source of the campaign.',
  utmMedium: 'Medium of the campaign.',
  utmCampaign: 'Name of the campaign.',
  utmContent: 'Content of the campaign.',
  utmTerm: 'Term of the campaign.',
  tag: 'Tag of the event.',
  hostname: 'Host name of the page.',
  distinctId: "The application's id of the visitor.",
};

/** The filters of statistics, as parameters of a query string. */
export const filterParameters = filterNames.map((name) => ({
  name,
  in: 'query',
  description: `${meanings[name]} A plain value or \`operator.value\`.`,
  schema: { type: 'string' },
}));
