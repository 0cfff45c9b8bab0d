import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { type Process, startProcess, untilReady } from './processes.ts';
import { createStores } from './stores.ts';

export type Meridian = { origin: string; password: string; process: Process; stop(): Promise<void> };

/** The whole product in one process, as `npm start` runs it, on databases of its own in the stores of the test run. */
export async function startMeridian(env: Record<string, string> = {}): Promise<Meridian> {
  const stores = await createStores();
  const dataDir = await mkdtemp(join(tmpdir(), 'meridian-test-'));
  const port = await freePort();
  const password = 'a test password';
  const process_ = startProcess(process.execPath, ['--import', 'tsx', 'services/standalone/src/main.ts'], {
    DATA_DIR: dataDir,
    PORT: String(port),
    ...stores.env,
    ADMIN_PASSWORD: password,
    ...env,
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilReady(process_, `${origin}/api/heartbeat`);
  return {
    origin,
    password,
    process: process_,
    async stop() {
      process_.kill('SIGTERM');
      await process_.exited;
      await stores.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
