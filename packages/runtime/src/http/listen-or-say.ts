import type { RequestListener } from 'node:http';
import { StartError } from '../process.ts';
import { type HttpServer, listen } from './server.ts';

type Options = { port: number; host?: string };

/** Listens; throws StartError that names the variable to be put right. */
export async function listenOrSay(
  variable: 'PORT' | 'METRICS_PORT',
  listener: RequestListener,
  options: Options,
): Promise<HttpServer> {
  try {
    return await listen(listener, options);
  } catch (error) {
    const trouble = troubleOf((error as NodeJS.ErrnoException).code, variable, options);
    if (trouble === undefined) throw error;
    throw new StartError(trouble);
  }
}

function troubleOf(code: string | undefined, variable: string, { port, host }: Options): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use by another program. Set ${variable} to another one.`;
    case 'EACCES':
      return `Port ${port} is closed to this account. Set ${variable} to another one.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return `${host} is no address of this machine that can be listened on. Set HOST to one, or leave it out for all.`;
    default:
      return undefined;
  }
}
