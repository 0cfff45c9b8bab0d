import { execFile } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, type Process, root, startProcess, untilReady } from '../processes.ts';
import type { Target } from './closed-load.ts';

type Service = 'ingest' | 'worker' | 'query';
export type Started = Target & { process: Process };
export type Services = ReturnType<typeof createServices>;

/** Starts services as production runs them, from bundles that are made here, or from their sources; and the bare server. */
export function createServices(options: {
  env: Record<string, string>;
  fromSource: boolean;
  /** Where the bundles come. */
  folder: string;
}) {
  const { env, fromSource, folder: bundles } = options;
  const built = new Map<Service, Promise<string>>();
  const started: Process[] = [];

  async function bundle(service: Service): Promise<string> {
    const folder = join(root, 'services', service);
    await promisify(execFile)(process.execPath, ['../../scripts/bundle.mjs'], { cwd: folder });
    cpSync(join(folder, 'dist'), join(bundles, service), { recursive: true });
    symlinkSync(join(folder, 'node_modules'), join(bundles, service, 'node_modules'));
    return join(bundles, service, 'bin/main.js');
  }

  async function entryOf(service: Service): Promise<string[]> {
    if (fromSource) return ['--import', 'tsx', `services/${service}/src/main.ts`];
    const building = built.get(service) ?? bundle(service);
    built.set(service, building);
    return [await building];
  }

  async function run(args: string[], probePath: string, more: Record<string, string> = {}): Promise<Started> {
    const port = await freePort();
    const process_ = startProcess(process.execPath, args, { ...env, PORT: String(port), ...more });
    started.push(process_);
    await untilReady(process_, `http://127.0.0.1:${port}${probePath}`);
    return { port, pid: process_.pid, process: process_ };
  }

  return {
    /** `nodeArgs`: options of Node itself. */
    start: async (service: Service, nodeArgs: string[] = []) =>
      run([...nodeArgs, ...(await entryOf(service))], '/readyz', { LOG_LEVEL: 'warn' }),
    startBare: () => run(['--import', 'tsx', 'tests/load/bare-server.ts'], '/'),
    async stop() {
      for (const each of started) each.kill('SIGTERM');
      await Promise.all(started.map((each) => each.exited));
    },
  };
}
