import { defineConfig } from 'drizzle-kit';

/**
 * `npm run migrate:generate -- --name add_tag` writes the next migration from the difference between schema.ts and the
 * last one.
 */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/schema.ts',
  out: './postgres-migrations',
});
