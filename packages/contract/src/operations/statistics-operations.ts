import { z } from 'zod';
import {
  ActiveAnswer,
  EventsAnswer,
  EventsQuery,
  ExpandedMetric,
  Metric,
  MetricsQuery,
  PageviewsAnswer,
  PageviewsQuery,
  StatsAnswer,
  StatsQuery,
} from '../statistics.ts';
import type { OperationFamily } from './operation.ts';

export const statisticsOperations: OperationFamily = {
  name: 'Statistics',
  description: `What was collected. Without a range: the last 24 hours.

A **filter** is a plain value, or an operator and a value with a dot between them: \`/a\`, \`neq./a\`, \`c.blog\`. Operators: \`eq\` equal, \`neq\` not equal,
\`c\` contains, \`dnc\` does not contain, \`re\` and \`nre\` fits a regular expression (RE2) or not, \`s\` is set, \`ns\` is not set. Commas separate alternatives of
\`eq\` and \`neq\`; a repeated parameter adds one. A number behind the name (\`path\`, \`path1\`) makes a further condition.`,
  operations: {
    'GET /websites/{websiteId}/stats': {
      id: 'getWebsiteStats',
      summary: 'Five numbers of a range',
      access: 'reader',
      query: StatsQuery,
      filters: true,
      answer: StatsAnswer,
      refusals: ['not-found'],
    },
    'GET /websites/{websiteId}/pageviews': {
      id: 'getWebsitePageviews',
      summary: 'Pageviews and visits over time',
      description: 'Every bucket of the range is there, in order, also where nothing happened.',
      access: 'reader',
      query: PageviewsQuery,
      filters: true,
      answer: PageviewsAnswer,
      refusals: ['not-found'],
    },
    'GET /websites/{websiteId}/events': {
      id: 'getWebsiteEvents',
      summary: 'Event log',
      description:
        'Newest first. `cursor` reads on at the same cost however deep; `page` skips what comes before. A share link may hide the log: 403.',
      access: 'reader',
      query: EventsQuery,
      filters: true,
      answer: EventsAnswer,
      refusals: ['forbidden', 'not-found'],
    },
    'GET /websites/{websiteId}/active': {
      id: 'getWebsiteActive',
      summary: 'Visitors of the last five minutes',
      access: 'reader',
      answer: ActiveAnswer,
      refusals: ['not-found'],
    },
    'GET /websites/{websiteId}/metrics': {
      id: 'getWebsiteMetrics',
      summary: 'Values of one dimension, most first',
      access: 'reader',
      query: MetricsQuery,
      filters: true,
      answer: z.array(Metric),
      refusals: ['not-found'],
    },
    'GET /websites/{websiteId}/metrics/expanded': {
      id: 'getWebsiteExpandedMetrics',
      summary: 'The five numbers of each value of one dimension',
      access: 'reader',
      query: MetricsQuery,
      filters: true,
      answer: z.array(ExpandedMetric),
      refusals: ['not-found'],
    },
  },
};
