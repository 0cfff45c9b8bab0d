// Runs ClickHouse as a child process: the engine of npm `chdb` with its real HTTP interface, for any unmodified client.
//
//   node clickhouse-engine.mjs <data directory> <port> <config file>
//
// Plain JavaScript, so that the process starts without a TypeScript loader. It serves on 127.0.0.1 until it is killed.
// An orderly end takes seven seconds and saves nothing, since what ClickHouse acknowledged is in its files: every
// signal is SIGKILL.
import { libchdbPath } from 'chdb/libchdb';
import { DataType, load, open } from 'ffi-rs';

const [directory, port, configFile] = process.argv.slice(2);

const die = () => process.kill(process.pid, 'SIGKILL');
process.on('SIGINT', die);
process.on('SIGTERM', die);

// The library's command line is the one of clickhouse-local, which is told by a query to listen. It serves for as long
// as its query runs: the second one never ends and costs nothing.
const commandLine = [
  'clickhouse',
  `--path=${directory}`,
  `--config-file=${configFile}`,
  `--http_port=${port}`,
  '--listen_host=127.0.0.1',
  `--query=SYSTEM START LISTEN HTTP;
    SELECT sleepEachRow(3) FROM system.numbers SETTINGS max_block_size = 1, max_threads = 1 FORMAT Null`,
];

open({ library: 'chdb', path: libchdbPath() });
const result = await load({
  library: 'chdb',
  funcName: 'chdb_query_cmdline', // chdb_result *chdb_query_cmdline(int argc, char **argv)
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [commandLine.length, commandLine],
  runInNewThread: true, // the call blocks; signals must be heard meanwhile
});

// Only reached when the engine could not start.
console.error(
  load({
    library: 'chdb',
    funcName: 'chdb_result_error', // const char *chdb_result_error(chdb_result *)
    retType: DataType.String,
    paramsType: [DataType.External],
    paramsValue: [result],
  }),
);
process.exit(1);
