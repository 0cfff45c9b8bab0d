import type { OpenApiDocument } from '@meridian/contract/operations/openapi-document';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Schema = { type?: string; minimum?: number; enum?: unknown[]; required?: string[] };
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type OperationObject = {
  operationId: string;
  responses: object;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: { 'application/json': { schema: Schema } } };
};

type DocumentedOperation = {
  id: string;
  method: string;
  path: string;
  /** Statuses. */
  responses: string[];
  /** Parameters of the query string but for filters. */
  query: Parameter[];
  /** Schema of the body. */
  body: Schema | undefined;
};

/** For tests: what of real requests and answers is not as the document says. */
export function createDocumentCheck(document: OpenApiDocument) {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  // Trap: the types of this package know only the default export of CommonJS.
  (addFormats as unknown as typeof addFormats.default)(ajv);
  ajv.addSchema(document, 'openapi.json');

  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, object]): DocumentedOperation => {
      const { operationId: id, responses, parameters = [], requestBody } = object as OperationObject;
      const query = parameters.filter(
        (parameter): parameter is Parameter => 'in' in parameter && parameter.in === 'query',
      );
      const body = requestBody?.content['application/json'].schema;
      return { id, method: method.toUpperCase(), path, responses: Object.keys(responses), query, body };
    }),
  );

  function find(id: string): DocumentedOperation {
    const found = operations.find((operation) => operation.id === id);
    if (!found) throw new Error(`the document has no operation ${id}`);
    return found;
  }

  /** What does not fit the schema at `pointer`, of which each part is given as it is. */
  function faults(pointer: string[], value: unknown): string[] {
    const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = ajv.getSchema(`openapi.json#/${escaped.join('/')}`);
    if (!validate) throw new Error(`the document has nothing at ${pointer.join(' ')}`);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    );
  }

  const json = 'application/json';
  return {
    operations,
    find,
    /** Of the body of an answer with `status`. */
    answerFaults(id: string, status: number, body: unknown, type = json): string[] {
      const { method, path, responses } = find(id);
      if (!responses.includes(String(status))) return [`${id} is not documented to answer ${status}`];
      const pointer = ['paths', path, method.toLowerCase(), 'responses', String(status)];
      const response = at(document, pointer) as { $ref?: string };
      return faults([...(response.$ref?.split('/').slice(1) ?? pointer), 'content', type, 'schema'], body);
    },
    /** Of the body of a request. */
    bodyFaults(id: string, body: unknown): string[] {
      const { method, path } = find(id);
      return faults(['paths', path, method.toLowerCase(), 'requestBody', 'content', json, 'schema'], body);
    },
  };
}

function at(value: unknown, path: string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value);
}
