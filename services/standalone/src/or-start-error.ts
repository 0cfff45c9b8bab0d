import { StartError } from '@meridian/runtime/process';

/** What an operator can mend is told in a sentence that names the setting: `<what>: <reason>`. */
export async function orStartError<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new StartError(`${what}: ${reason instanceof Error ? reason.message || codeOf(reason) : reason}`);
  }
}

/** Trap: what Node throws when none of several addresses answers has no message. */
const codeOf = (error: Error): string => ('code' in error ? String(error.code) : error.name);
