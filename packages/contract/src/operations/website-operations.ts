import { z } from 'zod';
import { SegmentBody, SegmentList, SegmentListQuery, SegmentRecord } from '../segments.ts';
import { SharedWebsite } from '../shares.ts';
import { TransferWebsiteBody } from '../teams.ts';
import { CreateWebsiteBody, UpdateWebsiteBody, WebsiteList, WebsiteListQuery, WebsiteRecord } from '../websites.ts';
import { Done, type OperationFamily } from './operation.ts';

export const websiteOperations: OperationFamily = {
  name: 'Websites',
  description: 'The tracked properties.',
  operations: {
    'GET /websites': {
      id: 'listWebsites',
      summary: 'List websites',
      query: WebsiteListQuery,
      answer: WebsiteList,
    },
    'POST /websites': {
      id: 'createWebsite',
      summary: 'Create a website',
      description: 'An `id` or `shareId` that is in use is refused with 400.',
      body: CreateWebsiteBody,
      answer: WebsiteRecord,
    },
    'GET /websites/{websiteId}': {
      id: 'getWebsite',
      summary: 'Read a website',
      access: 'reader',
      description:
        'The answer is `null` where the caller has no such website. A share link is told id, name and domain.',
      answer: z.union([WebsiteRecord, SharedWebsite, z.null()]),
    },
    'POST /websites/{websiteId}': {
      id: 'updateWebsite',
      summary: 'Change a website',
      description: 'What is left out stays. A `shareId` that is in use is refused with 400.',
      body: UpdateWebsiteBody,
      answer: WebsiteRecord,
      refusals: ['not-found'],
    },
    'DELETE /websites/{websiteId}': {
      id: 'deleteWebsite',
      summary: 'Delete a website',
      description: 'With all that was collected for it, for good. Its id is never used again.',
      answer: Done,
      refusals: ['not-found'],
    },
    'POST /websites/{websiteId}/reset': {
      id: 'resetWebsite',
      summary: 'Delete what was collected',
      description: 'The website stays. From now on no answer counts what was collected before.',
      answer: Done,
      refusals: ['not-found'],
    },
    'POST /websites/{websiteId}/transfer': {
      id: 'transferWebsite',
      summary: 'Give a website to a team or to an account',
      description:
        'To a team in which the caller may create websites, or to the caller; an administrator gives to anybody. What was collected stays with it.',
      body: TransferWebsiteBody,
      answer: WebsiteRecord,
      refusals: ['not-found'],
    },
  },
};

export const segmentOperations: OperationFamily = {
  name: 'Segments',
  description:
    'Stored filters (segments) and stored groups of visitors who did something (cohorts), for the parameters `segment` and `cohort` of statistics.',
  operations: {
    'GET /websites/{websiteId}/segments': {
      id: 'getWebsiteSegments',
      summary: 'List segments or cohorts',
      query: SegmentListQuery,
      answer: SegmentList,
      refusals: ['not-found'],
    },
    'POST /websites/{websiteId}/segments': {
      id: 'createWebsiteSegment',
      summary: 'Create a segment or a cohort',
      body: SegmentBody,
      answer: SegmentRecord,
      refusals: ['not-found'],
    },
    'GET /websites/{websiteId}/segments/{segmentId}': {
      id: 'getWebsiteSegment',
      summary: 'Read a segment or a cohort',
      answer: SegmentRecord,
      refusals: ['not-found'],
    },
    'POST /websites/{websiteId}/segments/{segmentId}': {
      id: 'updateWebsiteSegment',
      summary: 'Replace a segment or a cohort',
      body: SegmentBody,
      answer: SegmentRecord,
      refusals: ['not-found'],
    },
    'DELETE /websites/{websiteId}/segments/{segmentId}': {
      id: 'deleteWebsiteSegment',
      summary: 'Delete a segment or a cohort',
      answer: Done,
      refusals: ['not-found'],
    },
  },
};
