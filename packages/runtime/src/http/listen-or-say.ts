import type { RequestListener } from 'node:http';
import { StartError } from '../process.ts';
import { type HttpServer, listen } from './server.ts';

/** Listens; throws StartError that names the variable of the port when another program has it. */
export async function listenOrSay(
  variable: 'PORT' | 'METRICS_PORT',
  listener: RequestListener,
  options: { port: number; host?: string },
): Promise<HttpServer> {
  try {
    return await listen(listener, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new StartError(`Port ${options.port} is in use by another program. Set ${variable} to another one.`);
  }
}
