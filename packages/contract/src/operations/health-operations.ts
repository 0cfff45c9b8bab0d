import { Done, type OperationFamily } from './operation.ts';

export const healthOperations: OperationFamily = {
  name: 'Health',
  description: 'For load balancers and monitors.',
  operations: {
    'GET /heartbeat': { id: 'getHeartbeat', summary: 'Whether the API answers', access: 'anybody', answer: Done },
  },
};
