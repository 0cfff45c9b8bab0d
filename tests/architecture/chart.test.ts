import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliConfig } from '@meridian/cli/config';
import { IngestConfig } from '@meridian/ingest/config';
import { QueryEnvironment } from '@meridian/query/config';
import { WorkerConfig } from '@meridian/worker/config';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { findHelm } from '../helm.ts';
import { root } from '../processes.ts';

const chart = join(root, 'deploy/helm/meridian');
const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
const isValid = new Ajv({ allErrors: true }).compile(schema);

const services = { ingest: IngestConfig, worker: WorkerConfig, query: QueryEnvironment };
const known: Record<string, string[]> = Object.fromEntries(
  Object.entries({ ...services, operator: CliConfig, migrate: CliConfig }).map(([part, config]) => [
    part,
    Object.keys(config.shape),
  ]),
);
/** What the chart says itself, from values of its own, the secret or because a pod has no choice. */
const ofTheChart = [
  'REGION',
  'PEERS',
  'MODE',
  'PORT',
  'METRICS_PORT',
  'STOP_DELAY_MS',
  'DATABASE_URL',
  'REDIS_URL',
].concat([
  'DATABASE_REPLICA_URL',
  'CLICKHOUSE_URL',
  'APP_SECRET',
  'APP_SECRET_PREVIOUS',
  'PEER_SECRET',
  'ADMIN_PASSWORD',
]);
/** What makes no sense in a pod: the address to listen on, and the data of `npm start`. */
const notInPods = ['HOST', 'DATA_DIR'];

const everything = {
  image: { repository: 'images.example/meridian', tag: '1.2.3', pullSecrets: [{ name: 'pull' }] },
  region: 'eu',
  peers: { us: 'https://us.example.com', eu: 'https://eu.example.com' },
  mode: 'cloud',
  stopDelayMs: 10_000,
  settings: {
    GEOIP_DB: '/geoip/city.mmdb',
    TRUSTED_PROXIES: '10.0.0.0/16',
    EVENT_LOG_MAX_BYTES: '1500000000',
    LOG_LEVEL: 'info',
  },
  geoipVolume: { persistentVolumeClaim: { claimName: 'geoip' } },
  ingest: { settings: { LOG_LEVEL: 'warn' } },
  worker: { autoscaling: { enabled: true } },
  query: { autoscaling: { enabled: false } },
  ingress: { enabled: true, className: 'nginx', host: 'eu.example.com', tlsSecret: 'tls', annotations: { a: 'b' } },
  gateway: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['eu.example.com'] },
  networkPolicy: { httpFrom: [{ namespaceSelector: {} }] },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
};

// biome-ignore lint/suspicious/noExplicitAny: manifests of a dozen kinds, of which each test reads a few fields
type Manifest = any;
let helm: string;
let plain: Manifest[];
let full: Manifest[];

beforeAll(() => {
  helm = findHelm();
  plain = render({});
  full = render(everything);
}, 300_000);

function runHelm(command: 'template' | 'lint', changes: object) {
  const args = { template: ['template', 'eu', chart], lint: ['lint', '--strict', chart] }[command];
  return spawnSync(helm, [...args, '--namespace', 'analytics', '-f', '-'], {
    input: stringify(changes),
    encoding: 'utf8',
  });
}

function render(changes: object): Manifest[] {
  const { status, stdout, stderr } = runHelm('template', changes);
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() ?? [];
  });
}

const ofKind = (manifests: Manifest[], kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const partOf = (manifest: Manifest): string => manifest.metadata.labels['app.kubernetes.io/component'];
const withPods = (manifests: Manifest[]) => manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
const containerOf = (manifest: Manifest) => manifest.spec.template.spec.containers[0];
const isService = (manifest: Manifest) => partOf(manifest) in services;
const envOf = (manifest: Manifest): Map<string, Manifest> =>
  new Map(containerOf(manifest).env.map((entry: Manifest) => [entry.name, entry]));

describe('values', () => {
  test('as shipped fit their schema, and the schema takes nothing that it does not know', () => {
    expect(isValid(values), JSON.stringify(isValid.errors)).toBe(true);
    for (const wrong of [
      { regoin: 'us' },
      { settings: { NOPE: '1' } },
      { settings: { RETENTION_DAYS: 730 } },
      { settings: { PORT: '80' } },
      { image: { repository: 'meridian', tag: 'latest' } },
      { peers: { eu: 'eu.example.com' } },
      { mode: 'demo' },
      { stopDelayMs: 10_001 },
      { ingress: { enabled: true, host: '' } },
    ]) {
      expect(isValid({ ...values, ...wrong }), JSON.stringify(wrong)).toBe(false);
      const { status, stderr } = runHelm('template', wrong);
      expect(status, stderr).not.toBe(0);
    }
  });

  test('can say every setting of the services that the chart does not say itself, and no other', () => {
    const ofServices = [...new Set(Object.values(known).flat())];
    const expected = ofServices.filter((name) => !ofTheChart.includes(name) && !notInPods.includes(name));
    const open = Object.keys(schema.definitions.settings.properties);
    expect(open.sort()).toEqual(expected.sort());
    expect(ofTheChart.filter((name) => !ofServices.includes(name))).toEqual([]);
  });
});

test('Helm finds nothing to complain of', () => {
  for (const changes of [{}, everything]) expect(runHelm('lint', changes)).toMatchObject({ status: 0, stderr: '' });
});

test('each process gets the settings that it cannot do without, and none that no process knows', () => {
  const openTelemetry = /^OTEL_/;
  for (const manifest of withPods(full)) {
    const part = partOf(manifest);
    const names = [...envOf(manifest).keys()];
    expect(new Set(names).size, part).toBe(names.length);
    const fixed = names.filter((name) => ofTheChart.includes(name));
    expect(
      fixed.filter((name) => !known[part]?.includes(name)),
      part,
    ).toEqual([]);
    if (part !== 'migrate')
      expect(
        ofTheChart.filter((name) => known[part]?.includes(name) && !names.includes(name)),
        part,
      ).toEqual([]);
    for (const name of names)
      expect(Object.values(known).flat().includes(name) || openTelemetry.test(name), name).toBe(true);
  }
});

test('what the values say arrives: settings as text, those of a service before those of all', () => {
  const [ingest] = full.filter((manifest) => manifest.kind === 'Deployment' && partOf(manifest) === 'ingest');
  const env = envOf(ingest);
  expect(env.get('PEERS').value).toBe('eu=https://eu.example.com,us=https://us.example.com');
  expect(env.get('EVENT_LOG_MAX_BYTES').value).toBe('1500000000');
  expect(env.get('STOP_DELAY_MS').value).toBe('10000');
  expect(env.get('LOG_LEVEL').value).toBe('warn');
  const withGeoFile = withPods(full).filter(({ spec }) => spec.template.spec.volumes);
  expect(withGeoFile.map(partOf).sort()).toEqual(['ingest', 'operator']);
  for (const manifest of withGeoFile)
    expect(manifest.spec.template.spec.volumes).toEqual([{ name: 'geoip', ...everything.geoipVolume }]);
});

test('secrets and addresses with passwords come from the Secret, each process with its own user of ClickHouse', () => {
  const users = { worker: 'WRITER', query: 'READER', operator: 'MIGRATOR', migrate: 'MIGRATOR' };
  for (const manifest of withPods(full)) {
    const env = envOf(manifest);
    for (const name of [...env.keys()].filter((name) => /SECRET|PASSWORD|_URL/.test(name)))
      expect(env.get(name).valueFrom.secretKeyRef.name, name).toBe('meridian');
    const user = users[partOf(manifest) as keyof typeof users];
    expect(env.get('CLICKHOUSE_URL')?.valueFrom.secretKeyRef.key).toBe(user && `CLICKHOUSE_URL_${user}`);
  }
  expect(full.concat(plain).filter(({ kind }) => kind === 'Secret' || kind === 'ConfigMap')).toEqual([]);
});

test('pods run as nobody special, within limits, and do not speak to Kubernetes', () => {
  const pods = withPods(full);
  expect(pods.map(partOf).sort()).toEqual(['ingest', 'migrate', 'operator', 'query', 'worker']);
  for (const manifest of pods) {
    const { spec } = manifest.spec.template;
    const container = containerOf(manifest);
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(container.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String) },
      limits: { memory: expect.any(String) },
    });
    expect(container.image).toMatch(/^images\.example\/meridian-(ingest|worker|query|cli):1\.2\.3$/);
  }
});

test('services are probed on their own port and given the time that they may take to end', () => {
  for (const manifest of ofKind(full, 'Deployment').filter(isService)) {
    const { livenessProbe, readinessProbe, ports } = containerOf(manifest);
    expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 'http' });
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' });
    const env = envOf(manifest);
    expect(ports).toEqual([
      { name: 'http', containerPort: Number(env.get('PORT').value) },
      { name: 'metrics', containerPort: Number(env.get('METRICS_PORT').value) },
    ]);
    const graceSeconds = manifest.spec.template.spec.terminationGracePeriodSeconds;
    expect(graceSeconds).toBeGreaterThan(partOf(manifest) === 'query' ? 95 : 25);
  }
});

test('whatever selects pods selects those of one part', () => {
  const labels = withPods(full).map((manifest) => manifest.spec.template.metadata.labels);
  const selectors = [
    ...ofKind(full, 'Deployment').map(({ spec }) => spec.selector.matchLabels),
    ...ofKind(full, 'Service').map(({ spec }) => spec.selector),
    ...ofKind(full, 'PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
    ...ofKind(full, 'NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
  ];
  expect(selectors).toHaveLength(4 + 3 + 3 + 4);
  for (const selector of selectors)
    expect(labels.filter((of) => Object.entries(selector).every(([name, value]) => of[name] === value))).toHaveLength(
      1,
    );
});

test('the number of pods is either fixed or scaled: ingest and query by their CPU, the worker by the age of the log', () => {
  for (const manifests of [plain, full]) {
    const scaled = ofKind(manifests, 'HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name);
    for (const { metadata, spec } of ofKind(manifests, 'Deployment'))
      expect('replicas' in spec, metadata.name).toBe(!scaled.includes(metadata.name));
  }
  const metrics = ofKind(full, 'HorizontalPodAutoscaler').map(({ spec }) => spec.metrics[0]);
  expect(metrics.map(({ resource, external }) => resource?.name ?? external.metric.name)).toEqual([
    'cpu',
    'meridian_event_log_lag_seconds',
  ]);
});

test('both stores are migrated before a version is installed', () => {
  const [job] = ofKind(plain, 'Job');
  expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
  expect(containerOf(job).command.slice(-2)).toEqual(['bin/main.js', 'migrate']);
});

test('collection goes to ingest under every prefix that the API has, everything else to query', () => {
  const collect = ['/api', '/v1', '/v1/eu', '/v1/us'].flatMap((prefix) => [`${prefix}/send`, `${prefix}/batch`]);
  const [ingress] = ofKind(full, 'Ingress');
  const byPath = ingress.spec.rules[0].http.paths.map((entry: Manifest) => [entry.path, entry.backend.service.name]);
  expect(byPath).toEqual([...collect.map((path) => [path, 'eu-ingest']), ['/', 'eu-query']]);
  const [route] = ofKind(full, 'HTTPRoute');
  const byMatch = route.spec.rules.flatMap((rule: Manifest) =>
    rule.matches.map(({ path }: Manifest) => [path.value, rule.backendRefs[0].name, rule.backendRefs[0].port]),
  );
  expect(byMatch).toEqual([...collect.map((path) => [path, 'eu-ingest', 3001]), ['/', 'eu-query', 3002]]);
  expect(render({})).not.toContainEqual(expect.objectContaining({ kind: 'Ingress' }));
});

test('the operator’s pod ends at SIGTERM', async () => {
  const [operator] = full.filter((manifest) => manifest.kind === 'Deployment' && partOf(manifest) === 'operator');
  const [, flag, program] = containerOf(operator).command;
  const child = spawn(process.execPath, [flag, `${program}; console.log('there')`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('nobody reaches the operator’s pod, and of a worker only its metrics', () => {
  const open = Object.fromEntries(
    ofKind(full, 'NetworkPolicy').map((policy) => [
      partOf(policy),
      policy.spec.ingress.map((rule: Manifest) => rule.ports[0].port),
    ]),
  );
  expect(open).toEqual({ ingest: ['http', 'metrics'], query: ['http', 'metrics'], worker: ['metrics'], operator: [] });
});
