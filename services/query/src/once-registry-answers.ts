import { RegistryError } from '@meridian/registry/registry-error';

const pauseMs = 1_000;

/**
 * Does the work now or, while the registry is away, again and again until it answers. Resolves after the first attempt,
 * so that a process also starts before its Postgres; rejects when that fails for another reason. Gives the function
 * that ends further attempts. `onFailure` hears of another reason that comes up later.
 */
export async function onceRegistryAnswers(
  work: () => Promise<void>,
  onFailure: (error: unknown) => void,
): Promise<() => void> {
  if (await isDone(work)) return () => {};
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    isDone(work)
      .then((done) => done && clearInterval(timer))
      .catch((error: unknown) => {
        clearInterval(timer);
        onFailure(error);
      })
      .finally(() => {
        isRunning = false;
      });
  }, pauseMs);
  return () => clearInterval(timer);
}

async function isDone(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof RegistryError && error.kind === 'unavailable') return false;
    throw error;
  }
}
