import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { originOf, welcomeText, welcomeTextWithout } from './welcome.ts';

const welcome = {
  origin: 'http://localhost:3000',
  administrator: 'admin',
  loginFile: "/tmp/it's here/login.json",
  websiteId: '7c0a1c52-5a5e-4c8e-9f0e-1a2b3c4d5e6f',
};
const curlLines = (text: string) => text.split('\n').filter((line) => line.startsWith('curl '));

/** What bash makes of a line's words; `curl` itself is replaced by printf. */
const words = (line: string, env: Record<string, string> = {}) =>
  execFileSync('bash', ['-c', line.replace(/^curl/, "printf '%s\\n'").replace(/ && sleep 2$/, '')], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).split('\n');

test('the address and the administrator are on lines of their own', () => {
  const lines = welcomeText({ ...welcome, generatedPassword: 'secret-1' }).split('\n');
  expect(lines[0]).toBe('Meridian is ready at http://localhost:3000');
  expect(lines[1]).toBe('Administrator: admin / secret-1');
});

test('a password that was given or generated earlier is not shown', () => {
  expect(welcomeText(welcome).split('\n')[1]).toBe('Administrator: admin');
});

test('without an administrator no login is promised, and the command that makes one is a whole bash command', () => {
  const [ready, ...rest] = welcomeTextWithout("o'hara", { origin: 'http://localhost:3000', region: 'eu' }).split('\n');
  expect(ready).toBe('Meridian is ready at http://localhost:3000');
  expect(rest.join()).not.toMatch(/^Administrator:|curl /m);
  const command = rest.join().replace(/^.* REGION=eu npx meridian/, "printf '%s\\n'");
  expect(execFileSync('bash', ['-c', command], { encoding: 'utf8' })).toBe(
    "create-account\n--username\no'hara\n--role\nadmin\n",
  );
});

test('four curl lines are whole bash commands', () => {
  const lines = curlLines(welcomeText({ ...welcome, generatedPassword: "it's" }));
  expect(lines).toHaveLength(4);
  expect(words(lines[0] ?? '')).toContain('{"username":"admin","password":"it\'s"}');
  expect(words(lines[0] ?? '')).toContain(welcome.loginFile);
});

test('without a generated password the login line takes $ADMIN_PASSWORD', () => {
  const [login = ''] = curlLines(welcomeText(welcome));
  expect(words(login, { ADMIN_PASSWORD: 'given one' })).toContain('{"username":"admin","password":"given one"}');
});

test('the address can be typed on this machine, whatever is listened on', () => {
  expect([undefined, '0.0.0.0', '::', '127.0.0.2', '::1'].map((host) => originOf(host, 80))).toEqual([
    'http://localhost:80',
    'http://localhost:80',
    'http://localhost:80',
    'http://127.0.0.2:80',
    'http://[::1]:80',
  ]);
});

test('a password with quotes and backslashes becomes sound JSON in the login line', () => {
  const [login = ''] = curlLines(welcomeText(welcome));
  const [body = ''] = words(login, { ADMIN_PASSWORD: 'a"b\\c' }).filter((word) => word.startsWith('{'));
  expect(JSON.parse(body)).toEqual({ username: 'admin', password: 'a"b\\c' });
});
