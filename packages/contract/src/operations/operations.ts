import { apiKeyOperations, passwordOperations, selfOperations, sessionOperations } from './account-operations.ts';
import { collectionOperations } from './collection-operations.ts';
import { healthOperations } from './health-operations.ts';
import type { OperationFamily } from './operation.ts';
import { shareOperations } from './share-operations.ts';
import { statisticsOperations } from './statistics-operations.ts';
import { teamOperations } from './team-operations.ts';
import { adminOperations, userOperations } from './user-operations.ts';
import { segmentOperations, websiteOperations } from './website-operations.ts';

/** Every route of the API, in the order in which a reader needs them. */
export const operationFamilies: readonly OperationFamily[] = [
  collectionOperations,
  statisticsOperations,
  websiteOperations,
  segmentOperations,
  shareOperations,
  sessionOperations,
  selfOperations,
  passwordOperations,
  apiKeyOperations,
  teamOperations,
  userOperations,
  adminOperations,
  healthOperations,
];
