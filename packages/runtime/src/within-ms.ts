/** The value, unless it takes longer: then a rejection with the message. The work itself is not ended. */
export async function withinMs<Value>(ms: number, value: Value | Promise<Value>, message: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
