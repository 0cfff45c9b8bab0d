import {
  CreateShareBody,
  CreateWebsiteShareBody,
  ResolvedShare,
  ShareList,
  ShareListQuery,
  ShareRecord,
  UpdateShareBody,
} from '../shares.ts';
import { Done, type OperationFamily } from './operation.ts';

export const shareOperations: OperationFamily = {
  name: 'Shares',
  description:
    'Public links, by which everybody who knows one reads the statistics of a website while the link exists.',
  operations: {
    'GET /share/{slug}': {
      id: 'getShareBySlug',
      summary: 'What a public link leads to',
      description: 'With a token that reads the website, to be sent as `x-umami-share-token`.',
      access: 'anybody',
      answer: ResolvedShare,
      refusals: ['not-found'],
    },
    'GET /websites/{websiteId}/shares': {
      id: 'getWebsiteShares',
      summary: 'List the links of a website',
      description: 'Newest first.',
      query: ShareListQuery,
      answer: ShareList,
      refusals: ['not-found'],
    },
    'POST /websites/{websiteId}/shares': {
      id: 'createWebsiteShare',
      summary: 'Create a link to a website',
      description: 'A `slug` that is in use is refused with 400.',
      body: CreateWebsiteShareBody,
      answer: ShareRecord,
      refusals: ['not-found'],
    },
    'POST /share': {
      id: 'createShare',
      summary: 'Create a link to a website that the body names',
      description: 'A `slug` that is in use is refused with 400.',
      body: CreateShareBody,
      answer: ShareRecord,
      refusals: ['not-found'],
    },
    'GET /share/id/{shareId}': {
      id: 'getShare',
      summary: 'Read a link',
      answer: ShareRecord,
      refusals: ['not-found'],
    },
    'POST /share/id/{shareId}': {
      id: 'updateShare',
      summary: 'Change a link',
      description: 'What is left out stays. With another slug it is another link: tokens of the old one end.',
      body: UpdateShareBody,
      answer: ShareRecord,
      refusals: ['not-found'],
    },
    'DELETE /share/id/{shareId}': {
      id: 'deleteShare',
      summary: 'End a link',
      description: 'Its tokens end with it.',
      answer: Done,
      refusals: ['not-found'],
    },
  },
};
