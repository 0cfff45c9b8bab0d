import { StartError } from '@meridian/runtime/process';

/** What an operator can mend is told in a sentence that names the setting: `<what>: <reason>`. */
export async function orStartError<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
    throw new StartError(`${what}: ${cause instanceof Error ? cause.message : message}`);
  }
}
