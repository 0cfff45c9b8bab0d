import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { build } from 'esbuild';
import { type Process, root, startProcess, untilReady } from '../processes.ts';
import { makeServiceImage } from '../service-image.ts';
import type { Target } from './closed-load.ts';

type Service = 'ingest' | 'worker' | 'query';
type Started = Target & { process: Process };
export type Services = ReturnType<typeof createServices>;

/**
 * Starts services as production runs them, from bundles that are made here, or from their sources; and the bare server.
 */
export function createServices(options: {
  env: Record<string, string>;
  fromSource: boolean;
  /** Where the bundles come. */
  bundles: string;
  /** Where each service leaves a CPU profile when it ends, if any. */
  profiles?: string;
}) {
  const { env, fromSource, bundles, profiles } = options;
  const built = new Map<Service, Promise<string>>();
  const started: Process[] = [];

  async function bundle(service: Service): Promise<string> {
    await makeServiceImage(service, join(bundles, service));
    return join(bundles, service, 'bin/main.js');
  }

  /** The same for a process that only measurements have; beside the sources, where it finds native code. */
  async function bundleFile(source: string): Promise<string> {
    const outfile = join(root, 'tests/load/dist/null-sink-worker.mjs');
    await build({
      entryPoints: [join(root, source)],
      outfile,
      bundle: true,
      platform: 'node',
      target: 'node20',
      format: 'esm',
      sourcemap: true,
      external: ['pg-native', 'lz4-napi'],
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    });
    return outfile;
  }

  function profiling(name: string): string[] {
    if (!profiles) return [];
    return ['--cpu-prof', '--cpu-prof-dir', profiles, '--cpu-prof-name', `${name}-${started.length}.cpuprofile`];
  }

  async function entryOf(service: Service): Promise<string[]> {
    if (fromSource) return ['--import', 'tsx', `services/${service}/src/main.ts`];
    const building = built.get(service) ?? bundle(service);
    built.set(service, building);
    return ['--v8-pool-size=1', await building];
  }

  async function run(args: string[], probePath: string, more: Record<string, string>): Promise<Started> {
    const port = await freePort();
    const process_ = startProcess(process.execPath, args, { ...env, PORT: String(port), ...more });
    started.push(process_);
    await untilReady(process_, `http://127.0.0.1:${port}${probePath}`);
    return { port, pid: process_.pid, process: process_ };
  }

  async function end(processes: readonly Process[]): Promise<void> {
    for (const each of processes) each.kill('SIGTERM');
    await Promise.all(processes.map((each) => each.exited));
  }

  return {
    async start(service: Service, more: Record<string, string> = {}): Promise<Started> {
      return run([...profiling(service), ...(await entryOf(service))], '/readyz', { LOG_LEVEL: 'warn', ...more });
    },
    async startNullSinkWorker(): Promise<Started> {
      const source = 'tests/load/null-sink-worker.ts';
      const entry = fromSource ? ['--import', 'tsx', source] : [await bundleFile(source)];
      return run([...profiling('null-sink-worker'), ...entry], '/readyz', {});
    },
    startBare: () => run(['--import', 'tsx', 'tests/load/bare-server.ts'], '/', {}),
    end: (...ended: Started[]) => end(ended.map((each) => each.process)),
    endAll: () => end(started),
  };
}
