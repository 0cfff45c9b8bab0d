import { askOnce } from './ask-once.ts';

/** What Postgres's clock says. @throws RegistryError */
export async function readPostgresClock(databaseUrl: string): Promise<Date> {
  const [row] = await askOnce(databaseUrl, 'SELECT clock_timestamp() AS now');
  return row?.now as Date;
}
