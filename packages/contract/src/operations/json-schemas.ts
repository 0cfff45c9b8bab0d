import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;

/** JSON Schemas in which those with a name are referred to by it. */
export type JsonSchemas = {
  /** By name. */
  components: Record<string, JsonSchema>;
  /** Of a schema that was given: a reference if it has a name. */
  of(schema: z.ZodType): JsonSchema;
};

const refTo = (name: string) => `#/components/schemas/${name}`;

/**
 * What zod says of schemas, in JSON Schema 2020-12.
 * @param io input: what is accepted; output: what is answered, without any key that is not named
 * @param named schemas that become components
 * @param others that stand where they are used
 */
export function toJsonSchemas(
  io: 'input' | 'output',
  named: Readonly<Record<string, z.ZodType>>,
  others: readonly z.ZodType[],
): JsonSchemas {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  for (const [index, schema] of others.entries()) if (!registry.has(schema)) registry.add(schema, { id: `${index}` });
  const { schemas } = z.toJSONSchema(registry, { io, uri: refTo, unrepresentable: 'any', override });
  const byId = (id: string): JsonSchema => {
    const { $schema, $id, ...schema } = schemas[id] ?? {};
    return schema;
  };
  return {
    components: Object.fromEntries(Object.keys(named).map((id) => [id, byId(id)])),
    of(schema) {
      const id = registry.get(schema)?.id;
      if (id === undefined) throw new Error('the schema is not one of those that were given');
      return id in named ? { $ref: refTo(id) } : byId(id);
    },
  };
}

/** The parameters of an object's schema as they are sent, in the schema's order. */
export function toParameterSchemas(parameters: z.ZodObject) {
  const { properties = {}, required = [] } = z.toJSONSchema(parameters, { io: 'input', override });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property as JsonSchema;
    const byDefault = z.safeParse(parameters.shape[name] as z.ZodType, undefined).data;
    // Trap: zod tells no default of what is transformed, as in 'text to number, or 20'.
    if (schema.default === undefined && typeof byDefault === 'number') schema.default = byDefault;
    return { name, description, required: required.includes(name), schema };
  });
}

/**
 * Leaves out what nobody reads: the expression of a format that has a name, and the bounds of any integer.
 * Trap: zod calls a key required whose value is preprocessed, also where nothing becomes a default.
 */
function override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: JsonSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (zodSchema instanceof z.ZodObject && Array.isArray(jsonSchema.required)) {
    const { shape } = zodSchema;
    jsonSchema.required = jsonSchema.required.filter((key) => !z.safeParse(shape[key], undefined).success);
  }
}
