// Runs `npm test` (arguments narrow it) and prints `N passed, N failed, N skipped` as its last line. Green only when
// something passed and nothing failed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const directory = mkdtempSync(join(tmpdir(), 'meridian-ci-'));
const reportFile = join(directory, 'report.json');

const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
const { status } = spawnSync('npm', ['test', '--', ...process.argv.slice(2), ...reporters], {
  cwd: root,
  stdio: 'inherit',
});
const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : { testResults: [] };
rmSync(directory, { recursive: true });

const tests = report.testResults.flatMap((file) => file.assertionResults);
const passed = tests.filter((test) => test.status === 'passed').length;
// A file that cannot be loaded has no tests but is a failure; so is what vitest reports only by its exit status (stores
// that do not start).
const brokenFiles = report.testResults.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
).length;
const failedSeen = tests.filter((test) => test.status === 'failed').length + brokenFiles;
const failed = status === 0 ? failedSeen : Math.max(failedSeen, 1);
const skipped = tests.length - tests.filter((test) => ['passed', 'failed'].includes(test.status)).length;

console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
