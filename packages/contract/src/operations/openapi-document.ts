import { Event } from '../collect.ts';
import { answerSchemas } from './answer-schemas.ts';
import { filterParameters } from './filter-parameters.ts';
import { type JsonSchema, toJsonSchemas } from './json-schemas.ts';
import { type Mode, securitySchemesOf, toOperationObject } from './operation-object.ts';
import { operationFamilies } from './operations.ts';
import { refusalResponses } from './refusals.ts';

/** `region`: that the instance serves, e.g. 'us'. */
type Instance = { mode: Mode; region: string };

/** `paths`: operations by path, without prefix, and method. */
export type OpenApiDocument = {
  openapi: '3.1.1';
  paths: Record<string, Record<string, JsonSchema>>;
  components: object;
};

const description = `Meridian collects what happens on websites and answers questions about it. It speaks the wire format of Umami: its trackers and clients work unchanged.

**Credentials.** An API key, as \`Authorization: Bearer mrd_…\` or \`x-umami-api-key: mrd_…\`; on self-hosted instances also a session token from \`POST /auth/login\`, as bearer.
Collection needs none.

**Rate limit.** 50 requests per API key in 15 seconds; \`RateLimit-Remaining\` tells how many are left. Sessions and collection are not limited.

**Bodies** are JSON. Keys and parameters that are not known are ignored.

**Refusals** have one shape: \`{"error": {"message", "code", "status", "properties"}}\`, where \`properties\` names faulty fields. Every answer of the API has an
\`x-request-id\`, under which its log line is found.`;

const headers = {
  'RateLimit-Limit': 'Requests of an API key in one window of 15 seconds; only where a key was sent.',
  'RateLimit-Remaining': 'Requests that are left in this window.',
  'RateLimit-Reset': 'Seconds until the next window.',
  'Retry-After': 'Seconds after which it is worth trying again.',
  'WWW-Authenticate': 'Bearer.',
  'x-region': 'The region that served the request.',
  'x-request-id': 'The id of the request: as it was sent, or made by the server.',
};

/** Every operation that the instance offers, in OpenAPI 3.1. */
export function toOpenApiDocument({ mode, region }: Instance): OpenApiDocument & Record<string, unknown> {
  const families = operationFamilies.filter(({ selfHostedOnly }) => mode === 'self-hosted' || !selfHostedOnly);
  const operations = families.flatMap((family) => Object.values(family.operations));
  const bodies = toJsonSchemas(
    'input',
    { Event },
    operations.flatMap(({ body }) => body ?? []),
  );
  const answers = toJsonSchemas(
    'output',
    answerSchemas,
    operations.map(({ answer }) => answer),
  );

  const paths: OpenApiDocument['paths'] = {};
  for (const { name: tag, operations } of families) {
    for (const [route, operation] of Object.entries(operations)) {
      const [method = '', path = ''] = route.split(' ');
      const object = toOperationObject(path, operation, { tag, mode, bodies, answers });
      paths[path] = { ...paths[path], [method.toLowerCase()]: object };
    }
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Meridian', version: '1', description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: serversOf({ mode, region }),
    tags: families.map((family) => ({ name: family.name, description: family.description })),
    paths,
    components: {
      securitySchemes: securitySchemesOf[mode],
      schemas: { ...answers.components, ...bodies.components },
      responses: refusalResponses(answers.of),
      parameters: Object.fromEntries(filterParameters.map((parameter) => [parameter.name, parameter])),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]),
      ),
    },
  };
}

function serversOf({ mode, region }: Instance) {
  const everywhere = [
    { url: '/v1', description: 'Cloud' },
    { url: `/v1/${region}`, description: `Cloud, only what is stored in ${region}` },
  ];
  return mode === 'cloud' ? everywhere : [{ url: '/api', description: 'Self-hosted' }, ...everywhere];
}
