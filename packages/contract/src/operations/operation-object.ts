import { errorStatus } from '../errors.ts';
import { filterParameters } from './filter-parameters.ts';
import { type JsonSchema, type JsonSchemas, toParameterSchemas } from './json-schemas.ts';
import type { Access, Operation } from './operation.ts';
import { refusalsOf } from './refusals.ts';

const pathParameters: Record<string, string> = {
  keyId: 'Id of the API key.',
  segmentId: 'Id of the segment or cohort.',
  shareId: 'Id of the share link.',
  slug: 'What the public link ends in.',
  teamId: 'Id of the team.',
  userId: 'Id of the user.',
  websiteId: 'Id of the website.',
};

const apiKey = {
  apiKeyBearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
  apiKeyHeader: { type: 'apiKey', in: 'header', name: 'x-umami-api-key', description: 'An API key.' },
};
const shareToken = {
  shareToken: {
    type: 'apiKey',
    in: 'header',
    name: 'x-umami-share-token',
    description: 'The token of GET /share/{slug}; reads one website.',
  },
};
const session = {
  session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token from POST /auth/login.' },
};

export type Mode = 'self-hosted' | 'cloud';

/** The ways to be known; on cloud there are no sessions. */
export const securitySchemesOf = {
  'self-hosted': { ...apiKey, ...session, ...shareToken },
  cloud: { ...apiKey, ...shareToken },
} satisfies Record<Mode, Record<string, JsonSchema>>;

/** What every answer 200 to a caller tells beside its body. */
const answerHeaders = ['x-request-id', 'x-region'];
const limitHeaders = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

/** One operation as OpenAPI has it; `path` with its parameters in braces. */
export function toOperationObject(
  path: string,
  operation: Operation,
  { tag, mode, bodies, answers }: { tag: string; mode: Mode; bodies: JsonSchemas; answers: JsonSchemas },
): JsonSchema {
  const { id, summary, description, access = 'caller', body, answer } = operation;
  const parameters = parametersOf(path, operation);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description && { description }),
    security: securityOf(access, mode),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: jsonContent(bodies.of(body)) } }),
    responses: {
      200: {
        description: 'Done.',
        ...(path !== '/send' && path !== '/batch' && { headers: headersOf(access) }),
        content: jsonContent(answers.of(answer)),
      },
      ...Object.fromEntries(
        refusalsOf(operation).map((code) => [errorStatus[code], { $ref: `#/components/responses/${code}` }]),
      ),
    },
  };
}

const jsonContent = (schema: JsonSchema) => ({ 'application/json': { schema } });

function parametersOf(path: string, { query, filters, headers }: Operation): JsonSchema[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: pathParameters[name],
    schema: { type: 'string' },
  }));
  const inQuery = query ? toParameterSchemas(query).map((parameter) => ({ in: 'query', ...parameter })) : [];
  const inHeader = headers ? toParameterSchemas(headers).map((parameter) => ({ in: 'header', ...parameter })) : [];
  const references = filters ? filterParameters.map(({ name }) => ({ $ref: `#/components/parameters/${name}` })) : [];
  return [...inPath, ...inQuery, ...references, ...inHeader];
}

/** Each of the list is enough. */
function securityOf(access: Access, mode: Mode): Record<string, string[]>[] {
  const accepted = {
    anybody: {},
    reader: securitySchemesOf[mode],
    caller: mode === 'cloud' ? apiKey : { ...apiKey, ...session },
    session,
  }[access];
  return Object.keys(accepted).map((scheme) => ({ [scheme]: [] }));
}

function headersOf(access: Access): Record<string, JsonSchema> {
  const names = access === 'caller' || access === 'reader' ? [...answerHeaders, ...limitHeaders] : answerHeaders;
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
