import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { errorStatus } from '../errors.ts';
import { toOpenApiDocument } from './openapi-document.ts';
import { operationFamilies } from './operations.ts';
import { refusalsOf } from './refusals.ts';

const instances = [
  { mode: 'self-hosted', region: 'us' },
  { mode: 'cloud', region: 'eu' },
] as const;

type Parameter = { $ref?: string; name: string; in: string; description?: string };
type DocumentedOperation = { operationId: string; summary: string; parameters?: Parameter[] };

const operationsOf = (instance: (typeof instances)[number]) =>
  Object.values(toOpenApiDocument(instance).paths).flatMap((path) => Object.values(path)) as DocumentedOperation[];

test.each(instances)('the document of $mode is OpenAPI 3.1, and every reference leads somewhere', async (instance) => {
  const document = toOpenApiDocument(instance);
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer.split('/').reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], document);
    expect(target, pointer).toBeDefined();
  }
});

test('every operation has a name of its own and a summary, every parameter a description', () => {
  const operations = operationsOf(instances[0]);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { operationId, summary, parameters = [] } of operations) {
    expect(summary, operationId).toMatch(/^[A-Z].*[^.]$/);
    const undescribed = parameters.filter(({ $ref, description }) => !$ref && !description?.endsWith('.'));
    expect(undescribed, operationId).toEqual([]);
  }
});

test('no operation refuses for two reasons with one status', () => {
  for (const operation of operationFamilies.flatMap((family) => Object.values(family.operations))) {
    const statuses = refusalsOf(operation).map((code) => errorStatus[code]);
    expect(new Set(statuses).size, operation.id).toBe(statuses.length);
  }
});

test('numbers of a query string are numbers in the document, with the defaults that the schemas have', () => {
  const events = operationsOf(instances[0]).find(({ operationId }) => operationId === 'getWebsiteEvents');
  expect(events?.parameters?.filter(({ name }) => ['page', 'pageSize', 'eventType'].includes(name))).toMatchObject([
    { name: 'eventType', schema: { type: 'integer', enum: [1, 2, 5] } },
    { name: 'page', schema: { type: 'integer', minimum: 1, default: 1 } },
    { name: 'pageSize', schema: { type: 'integer', minimum: 1, default: 20 } },
  ]);
});

test('answers of ours have no key that is not named', () => {
  const { components } = toOpenApiDocument(instances[0]) as { components: { schemas: Record<string, object> } };
  const open = Object.entries(components.schemas).filter(
    ([name, schema]) =>
      name !== 'Event' &&
      'properties' in schema &&
      !('additionalProperties' in schema && schema.additionalProperties === false),
  );
  expect(open.map(([name]) => name)).toEqual([]);
});

test('cloud offers no logins, no users and no sessions', () => {
  const ids = operationsOf(instances[1]).map(({ operationId }) => operationId);
  for (const id of ['login', 'createUser', 'updateMyPassword', 'getAdminUsers']) expect(ids).not.toContain(id);
  const { components } = toOpenApiDocument(instances[1]) as { components: { securitySchemes: object } };
  expect(Object.keys(components.securitySchemes)).toEqual(['apiKeyBearer', 'apiKeyHeader', 'shareToken']);
});
