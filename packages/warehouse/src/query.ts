import { type ParameterValue, toParameterText } from './parameter-text.ts';

/** A statement and the values of its parameters. */
export type Query = { sql: string; params: Record<string, ParameterValue> };

/** ClickHouse types of bound values. */
type ParameterType = 'String' | 'UUID' | 'Int64' | 'UInt64' | 'UInt8' | 'Array(String)' | 'Array(Int64)';

/** Gives a value a parameter and returns the text that stands for it in the SQL. */
export type Bind = (value: ParameterValue, type: ParameterType) => string;

/** Writes a query whose every value is bound; one that is bound again has the same parameter. */
export function buildQuery(write: (bind: Bind) => string): Query {
  const params: Query['params'] = {};
  const names = new Map<string, string>();
  const sql = write((value, type) => {
    // By its text, as conditions that are written twice make their lists twice.
    const text = toParameterText(value);
    let name = names.get(text);
    if (name === undefined) {
      name = `p${names.size}`;
      names.set(text, name);
      params[name] = value;
    }
    return `{${name}:${type}}`;
  });
  return { sql, params };
}
