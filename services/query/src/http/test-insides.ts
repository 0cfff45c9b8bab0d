/**
 * For tests: what no answer may hold: names of libraries and stores, texts of their errors, SQL of ours, places in the
 * code. The short names count as words of their own alone: every thousandth random code holds three given letters.
 */
export const insides =
  /clickhouse|redis|postgres|drizzle|undici|(?<![\w-])(zod|hono)(error)?(?![\w-])|DB::|Code: \d|syntax error|violates|relation "|column "|duplicate key|from (events|site_|website\b|user_account)|\/src\/|node_modules|\bat \S+:\d+:\d+|\bE(CONN|PIPE|NOTFOUND|TIMEDOUT)/i;
