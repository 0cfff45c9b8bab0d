import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeRedisSettings } from '@meridian/cli/checks/redis';
import { CliConfig } from '@meridian/cli/config';
import { serverConfig } from '@meridian/embedded/clickhouse-store';
import { serverArguments } from '@meridian/embedded/postgres-store';
import { durableSettings } from '@meridian/embedded/redis-store';
import { IngestConfig } from '@meridian/ingest/config';
import { QueryEnvironment } from '@meridian/query/config';
import { WorkerConfig } from '@meridian/worker/config';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../processes.ts';

const read = (file: string) => readFileSync(join(root, file), 'utf8');
const files = ['deploy', 'infra'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
);

test('every YAML and JSON file can be read, and says nothing twice', () => {
  // What the templates of the chart become is read in chart.test.ts.
  const yaml = files.filter((file) => /\.ya?ml$/.test(file) && !file.includes('/templates/'));
  const json = files.filter((file) => file.endsWith('.json'));
  expect(yaml.length).toBeGreaterThan(3);
  expect(json.length).toBeGreaterThan(2);
  for (const file of yaml)
    for (const { errors, warnings } of parseAllDocuments(read(file), { merge: true }))
      expect([...errors, ...warnings], file).toEqual([]);
  for (const file of json) expect(() => JSON.parse(read(file)), file).not.toThrow();
});

/** As Compose fills in `${NAME}`, `${NAME:?}` and `${NAME:-otherwise}`, one in the other too. */
function fillIn(text: string, environment: Readonly<Record<string, string>>): string {
  const filled = text.replace(
    /\$\{(\w+)(?::\?|:-([^${}]*))?\}/g,
    (_, name, otherwise = '') => environment[name] || otherwise,
  );
  return filled === text ? text : fillIn(filled, environment);
}

describe('the Dockerfile', () => {
  const text = read('deploy/Dockerfile');
  const instructions = text
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line))
    .map((line) => ({ name: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
  const named = (name: string) => instructions.filter((instruction) => instruction.name === name);

  test('builds on images of a named version and ships nothing of the stage that builds but its result', () => {
    const bases = named('FROM').map(({ rest }) => rest.split(' ')[0] ?? '');
    expect(bases).toHaveLength(2);
    for (const base of bases) expect(base).toMatch(/^[a-z]+:\d[\w.]*-[\w-]+$/);
    const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
    expect(last.filter(({ name }) => name === 'COPY').map(({ rest }) => rest)).toEqual([
      expect.stringMatching(/^--from=build /),
    ]);
    expect(last.filter(({ name }) => name === 'RUN')).toEqual([]);
  });

  test('runs as nobody special, without a shell', () => {
    const after = instructions.slice(instructions.findLastIndex(({ name }) => name === 'USER'));
    expect(after[0]?.rest).not.toMatch(/^(root|0)\b/);
    expect(after.map(({ name }) => name)).toEqual(['USER', 'CMD']);
    expect(Array.isArray(JSON.parse(after[1]?.rest ?? ''))).toBe(true);
  });

  test('installs what the lock file says, adds nothing from elsewhere, holds no secret', () => {
    expect(named('RUN').some(({ rest }) => rest.includes('--frozen-lockfile'))).toBe(true);
    expect(named('ADD')).toEqual([]);
    expect(text).not.toMatch(/\b(sudo|curl|wget|apt-get|apk)\b/);
    expect(
      named('ENV')
        .concat(named('ARG'))
        .filter(({ rest }) => /SECRET|PASSWORD|TOKEN|_URL/.test(rest)),
    ).toEqual([]);
    const ignored = read('.dockerignore').split('\n');
    for (const file of ['.env', 'deploy/.env', '.git', '**/node_modules']) expect(ignored).toContain(file);
  });

  test('copies only what is there', () => {
    const sources = named('COPY').filter(({ rest }) => !rest.startsWith('--from'));
    const paths = sources.flatMap(({ rest }) => rest.split(' ').slice(0, -1));
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  const compose = parse(read('deploy/compose.yaml'), { merge: true });
  const services = Object.entries<Record<string, never>>(compose.services);
  const settings: Record<string, { shape: object }> = {
    ingest: IngestConfig,
    worker: WorkerConfig,
    query: QueryEnvironment,
    migrate: CliConfig,
    meridian: CliConfig,
  };

  test('runs official images of a named version, whose own are built from the Dockerfile', () => {
    for (const [name, { image, build }] of services) {
      if (build) expect(build).toMatchObject({ context: '..', dockerfile: 'deploy/Dockerfile' });
      else expect(image, name).toMatch(/^[a-z/-]+:\d+(\.\d+)*$/);
    }
  });

  test('whatever goes on running says whether it is well, is started again and does not fill the disk with its log', () => {
    const ends = ['migrate', 'meridian'];
    const lasting = services.filter(([name]) => !ends.includes(name));
    expect(lasting.length).toBe(7);
    for (const [name, service] of lasting)
      expect(service, name).toMatchObject({
        healthcheck: { test: expect.anything() },
        restart: 'unless-stopped',
        logging: { driver: 'local' },
      });
  });

  test('the registry is that of the machine, or for every process the one that .env names', () => {
    for (const name of Object.keys(settings)) {
      const url = (environment: Record<string, string>) =>
        fillIn(compose.services[name].environment.DATABASE_URL, { POSTGRES_PASSWORD: 'a', ...environment });
      expect(url({}), name).toBe('postgres://meridian:a@postgres:5432/meridian');
      expect(url({ DATABASE_URL: '' }), name).toBe(url({}));
      expect(url({ DATABASE_URL: 'postgres://registry/b' }), name).toBe('postgres://registry/b');
    }
  });

  test('what a region has to be told to join others reaches its processes as it is in .env', () => {
    const [, told = ''] = /^2\. Settings: ([\s\S]*?)\n3\. /m.exec(read('docs/runbooks/add-a-region.md')) ?? [];
    const names = [...told.matchAll(/`([A-Z_]+)[=`]/g)].map(([, name = '']) => name);
    expect(names).toEqual(expect.arrayContaining(['REGION', 'DATABASE_URL', 'APP_SECRET', 'PEERS', 'PEER_SECRET']));
    const given = Object.fromEntries(names.map((name) => [name, `${name} of .env`]));
    for (const service of Object.keys(settings)) {
      const { environment, env_file } = compose.services[service];
      expect(env_file, service).toEqual([{ path: '.env', required: false }]);
      for (const name of names)
        expect(fillIn(environment[name] ?? given[name], given), `${service}: ${name}`).toBe(given[name]);
    }
  });

  test('the command is of one image whatever it is run for, and sees the city file that collectors read', () => {
    const { migrate, meridian, ingest } = compose.services;
    expect(migrate.image).toMatch(/^[a-z-]+$/);
    for (const part of ['image', 'build', 'environment', 'volumes'])
      expect(meridian[part], part).toEqual(migrate[part]);
    expect(meridian.volumes).toEqual(ingest.volumes);
  });

  test('gives its processes the time that they may take to end', () => {
    for (const name of ['ingest', 'worker', 'query'])
      expect(Number(/^(\d+)s$/.exec(compose.services[name].stop_grace_period)?.[1]), name).toBeGreaterThan(95);
  });

  test('gives its processes no variable that they do not know, and every file that it mounts is there', () => {
    const other = ['APP_SECRET', 'HOST']; // in the part that all share
    for (const [name, config] of Object.entries(settings)) {
      const given = Object.keys(compose.services[name].environment);
      expect(
        given.filter((variable) => !other.includes(variable) && !(variable in config.shape)),
        name,
      ).toEqual([]);
    }
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes as string[]);
    const ours = mounted.flatMap((volume) => /^(\.\.?\/[^:]+):/.exec(volume)?.[1] ?? []);
    expect(ours.length).toBeGreaterThan(5);
    const made = ['./geoip']; // by Docker, empty, unless the operator has one
    expect(ours.filter((path) => !made.includes(path) && !existsSync(join(root, 'deploy', path)))).toEqual([]);
  });

  test('names in its head what its .env must hold', () => {
    const text = read('deploy/compose.yaml');
    const required = new Set([...text.matchAll(/\$\{([A-Z_]+):\?\}/g)].map(([, name = '']) => name));
    const [, told = ''] = /it must hold five:\n#(.*)\n/.exec(text) ?? [];
    expect(
      told
        .split(',')
        .map((name) => name.trim())
        .sort(),
    ).toEqual([...required].sort());
  });
});

describe('what a store is configured to keep is what the README promises', () => {
  const compose = parse(read('deploy/compose.yaml'), { merge: true });

  /** What a Redis is told: by lines of its file, or by its arguments, which count after them. */
  const ofFile = (text: string) =>
    Object.fromEntries(
      text
        .split('\n')
        .filter((line) => /^[a-z]/.test(line))
        .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()]),
    );
  const ofArguments = (given: string[]) =>
    Object.fromEntries(
      given.flatMap((argument, i) => (argument.startsWith('--') ? [[argument.slice(2), given[i + 1] ?? '']] : [])),
    );

  test('Redis: on the disk before it is acknowledged, and never evicted', () => {
    const shipped = ofFile(read('infra/redis/redis.conf'));
    const { redis } = compose.services;
    expect(redis.volumes).toContain('../infra/redis/redis.conf:/etc/redis.conf:ro');
    expect(redis.command.slice(0, 2)).toEqual(['redis-server', '/etc/redis.conf']);
    expect(parse(read('infra/redis/kustomization.yaml')).configMapGenerator).toEqual([
      { name: 'redis', files: ['redis.conf'] },
    ]);
    const [inCluster] = parseAllDocuments(read('infra/redis/kubernetes.yaml')).map((document) => document.toJS());
    const { command } = inCluster.spec.template.spec.containers[0];
    expect(command.slice(0, 2)).toEqual(['redis-server', '/etc/redis/redis.conf']);
    const told: Record<string, Record<string, string>> = {
      'infra/redis': shipped,
      compose: {
        ...shipped,
        ...ofArguments(redis.command.map((argument: string) => fillIn(argument, {}))),
      },
      kubernetes: { ...shipped, ...ofArguments(command) },
      embedded: { maxmemory: 'of the machine', ...durableSettings },
    };
    for (const [where, settings] of Object.entries(told)) {
      expect(judgeRedisSettings(settings), where).toMatchObject({ status: 'OK' });
      expect(settings.maxmemory, where).toMatch(/^[1-9]|^of/);
      expect(settings['no-appendfsync-on-rewrite'] ?? 'no', where).toBe('no');
      expect(settings['aof-load-truncated'] ?? 'yes', where).toBe('yes'); // or it does not come back after a crash
    }
  });

  test('ClickHouse: an acknowledged insert is on its disk', () => {
    expect(compose.services.clickhouse.volumes).toContain(
      '../infra/clickhouse/server.xml:/etc/clickhouse-server/config.d/meridian.xml:ro',
    );
    const withoutComments = (xml: string) => xml.replace(/<!--[\s\S]*?-->/g, '');
    for (const [where, xml] of Object.entries({
      'infra/clickhouse': read('infra/clickhouse/server.xml'),
      embedded: serverConfig('password'),
    })) {
      const [, mergeTree = ''] = /<merge_tree>([\s\S]*?)<\/merge_tree>/.exec(withoutComments(xml)) ?? [];
      expect(mergeTree.replace(/\s/g, ''), where).toBe(
        '<fsync_after_insert>1</fsync_after_insert><fsync_part_directory>1</fsync_part_directory>',
      );
    }
    // The other files are read beside it.
    for (const file of ['small.xml', 'users.xml'])
      expect(withoutComments(read(`infra/clickhouse/${file}`)), file).not.toMatch(/fsync|async_insert|<merge_tree/);
  });

  test('PostgreSQL: a commit is on its disk, and nothing that hangs holds up the API', () => {
    const timeouts = { statement_timeout: 5, lock_timeout: 2, idle_in_transaction_session_timeout: 10 };
    const shipped = Object.fromEntries(
      [...read('infra/postgres/postgresql.conf').matchAll(/^(\w+) = (.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    const { command, volumes } = compose.services.postgres;
    expect(volumes).toContain('../infra/postgres/postgresql.conf:/etc/postgresql.conf:ro');
    expect(command).toEqual(['postgres', '-c', 'config_file=/etc/postgresql.conf']);
    for (const [name, seconds] of Object.entries(timeouts)) {
      expect(shipped[name]).toBe(`${seconds}s`);
      expect(read('infra/terraform/registry.tf')).toMatch(new RegExp(`^ *${name} += "${seconds}000"$`, 'm'));
    }
    // The server's defaults are the safe ones.
    const unsafe = /\b(fsync|synchronous_commit|full_page_writes)\b/;
    expect(Object.keys(shipped).filter((name) => unsafe.test(name))).toEqual([]);
    expect(serverArguments('folder', 5432).filter((argument) => unsafe.test(argument))).toEqual([]);
    for (const file of ['infra/terraform/registry.tf', 'packages/embedded/src/testcontainers-stores.ts'])
      expect(read(file), file).not.toMatch(unsafe);
  });
});

describe('runbooks', () => {
  const rules: { alert: string; labels: { severity: string }; annotations: { summary: string; runbook: string } }[] =
    parse(read('infra/prometheus/alerts.yaml')).groups.flatMap(({ rules }: { rules: [] }) => rules);
  const runbooks = readdirSync(join(root, 'docs/runbooks'))
    .filter((file) => file !== 'README.md')
    .map((file) => `docs/runbooks/${file}`);

  test('every alarm has one that knows it, and says who has to act', () => {
    expect(rules.length).toBeGreaterThan(8);
    for (const { alert, labels, annotations } of rules) {
      expect(['page', 'ticket'], alert).toContain(labels.severity);
      expect(runbooks, alert).toContain(annotations.runbook);
      expect(read(annotations.runbook)).toContain(`**${alert}**`);
      expect(read('docs/runbooks/README.md')).toContain(alert);
    }
  });

  test('each says how one notices, what it means, what to do and how to know that it is over', () => {
    expect(runbooks.length).toBeGreaterThan(8);
    for (const file of runbooks) {
      const headings = [...read(file).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
      expect(headings, file).toEqual(['How you notice', 'What it means', 'What to do', 'How to know it is over']);
      expect(read('docs/runbooks/README.md')).toContain(`](${file.split('/').at(-1)})`);
    }
  });

  test('alarms and links that they name exist', () => {
    const alarms = rules.map(({ alert }) => alert);
    for (const file of [...runbooks, 'docs/runbooks/README.md']) {
      const text = read(file);
      const named = [...text.matchAll(/\*\*([A-Z][a-z]+(?:[A-Z][a-z]+)+)\*\*/g)].map(([, name = '']) => name);
      expect(
        named.filter((name) => !alarms.includes(name)),
        file,
      ).toEqual([]);
      const links = [...text.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, link]) => `docs/runbooks/${link}`);
      expect(
        links.filter((link) => !existsSync(join(root, link))),
        file,
      ).toEqual([]);
    }
  });
});

test('dashboards ask the Prometheus that is chosen, their panels do not overlap and have a number of their own', () => {
  for (const file of files.filter((file) => /grafana\/.*\.json$/.test(file))) {
    const { panels, uid, templating } = JSON.parse(read(file));
    expect(uid, file).toMatch(/^[a-z-]+$/);
    expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { datasource, gridPos, targets, title } of panels) {
      expect(datasource.uid, title).toBe(`$\{datasource}`);
      for (const target of targets) expect(target.datasource.uid, title).toBe(`$\{datasource}`);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(x < 24 && !taken.has(`${x},${y}`), title).toBe(true);
          taken.add(`${x},${y}`);
        }
      for (const [path] of JSON.stringify(panels).matchAll(/docs\/runbooks\/[\w-]+\.md/g))
        expect(existsSync(join(root, path)), path).toBe(true);
    }
  }
});
