import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';

let fixture: PracticeFixture;
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config-make-'));
  fixture = await PracticeFixture.open();
}, 60_000);
afterAll(async () => {
  await fixture?.close();
  await rm(folder, { recursive: true });
});

const make = (words: readonly string[], form: Record<string, string> = {}) => {
  const operator = new OperatorDouble();
  operator.typed['config'] = [form];
  return fixture.run('config-make', '', { words }, { operator });
};
const made = async (id: string, form: Record<string, string> = {}) => {
  const { data } = await make([id], form);
  return parse((data as { text: string }).text) as Record<string, never>;
};

test('the examples of the specification are the defaults: limit range and quota (R70, R71)', async () => {
  expect(await made('limit-range')).toMatchObject({
    kind: 'LimitRange',
    spec: {
      limits: [
        {
          type: 'Container',
          default: { cpu: '500m', memory: '512Mi' },
          defaultRequest: { cpu: '100m', memory: '128Mi' },
          max: { cpu: '4', memory: '8Gi' },
        },
        { type: 'PersistentVolumeClaim', max: { storage: '50Gi' } },
      ],
    },
  });
  const hard = {
    'requests.cpu': '8',
    'requests.memory': '16Gi',
    'limits.cpu': '16',
    'limits.memory': '32Gi',
    persistentvolumeclaims: '10',
    'requests.storage': '200Gi',
    pods: '50',
    services: '20',
    secrets: '50',
    configmaps: '50',
  };
  expect(await made('resource-quota')).toMatchObject({ kind: 'ResourceQuota', spec: { hard } });
});

test('the form shows labels, and the description and rule of each field', async () => {
  await make(['resource-quota']);
  const quota = fixture.app.catalog.get('resource-quota')?.fields ?? [];
  const [form] = (fixture.operator as OperatorDouble).forms;
  expect(form?.fields.length).toBeGreaterThan(5);
  for (const { id, label, help } of form?.fields ?? []) {
    const field = quota.find(({ env }) => env === id);
    expect([label, help?.startsWith(field?.description ?? '?')]).toEqual([field?.label, true]);
  }
});

test('a backup schedule, an audit policy and the snapshots of etcd are made of their fields (R66, R68, R72)', async () => {
  expect(
    await made('cluster-backup', {
      SPEC_SCHEDULE: '0 * * * *',
      SPEC_TEMPLATE_TTL: '168h',
      SPEC_TEMPLATE_INCLUDED_NAMESPACES: 'shop, "web',
    }),
  ).toMatchObject({
    kind: 'Schedule',
    spec: { schedule: '0 * * * *', template: { ttl: '168h', includedNamespaces: ['shop', '"web'] } },
  });
  expect(await made('audit-logging', { LEVEL: 'Request' })).toMatchObject({
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'None' }, { level: 'None' }, { level: 'Metadata' }, { level: 'Request' }],
  });
  expect(await made('etcd-snapshot')).toEqual({ 'etcd-snapshot-schedule-cron': '0 */6 * * *', 'etcd-snapshot-retention': 10 });
});

test.each([
  ['limit-range', { CONTAINER_DEFAULT_CPU: '8' }, /above the maximum/],
  ['limit-range', { CONTAINER_DEFAULT_REQUEST_MEMORY: '1Gi' }, /memory request of a container is above/],
  ['resource-quota', { REQUESTS_CPU: '17' }, /quota for CPU requests is above/],
  ['cluster-backup', { SPEC_TEMPLATE_INCLUDED_NAMESPACES: 'a,b', SPEC_TEMPLATE_EXCLUDED_NAMESPACES: 'b' }, /both included and excluded/],
])('answers that do not go together are refused: %s %j (R66, R70, R71)', async (id, form, message) => {
  await expect(made(id, form)).rejects.toMatchObject({ code: 'config.file', message: expect.stringMatching(message) });
});

test.each([
  ['limit-range', 'CONTAINER_MAX_CPU', '4 cores'],
  ['cluster-backup', 'SPEC_SCHEDULE', 'every night'],
  ['audit-logging', 'LEVEL', 'Everything'],
  ['etcd-snapshot', 'RETENTION', 'ten'],
])('a value of the wrong form is refused: %s %s=%s', async (id, field, value) => {
  await expect(made(id, { [field]: value })).rejects.toMatchObject({ code: expect.stringMatching(/^usage|^refused/) });
});

test('it is written where a file is named, over nothing that is there, and checked when it was changed by hand (R71, R72)', async () => {
  const file = join(folder, 'quota.yaml');
  expect(await make(['resource-quota', file])).toMatchObject({ message: `Wrote resource-quota to ${file}.` });
  await expect(make(['resource-quota', file])).rejects.toMatchObject({ code: 'refused.fileThere' });
  expect(await fixture.run('config-check', '', { words: ['resource-quota', file] })).toMatchObject({
    message: `${file}: its format is valid.`,
  });
  await writeFile(file, (await readFile(file, 'utf8')).replace('pods: "50"', 'pod: "50"').replace('"16Gi"', '"16 GB"'));
  expect(await fixture.run('config-check', '', { words: ['resource-quota', file] })).toMatchObject({
    exitCode: 1,
    message: `${file}: 2 mistakes.`,
  });
});

test.each([
  [
    'resource-quota',
    '  hard:\n    pods: 5\n    count/deployments.apps: 3\n    requests.nvidia.com/gpu: 1\n    gold.storageclass.storage.k8s.io/requests.storage: 5Gi\n',
    'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\nspec:\n',
  ],
  [
    'audit-logging',
    'rules:\n  - {level: Metadata, verbs: [post], nonResourceURLs: ["/api*"]}\n',
    'apiVersion: audit.k8s.io/v1\nkind: Policy\n',
  ],
])('what Kubernetes knows besides what is asked is no mistake: %s', async (id, text, before) => {
  const file = join(folder, `${id}-by-hand.yaml`);
  await writeFile(file, before + text);
  expect(await fixture.run('config-check', '', { words: [id, file] })).toMatchObject({ message: `${file}: its format is valid.` });
});

test('a verb that stands for all verbs is none: the rule would fit no request', async () => {
  const file = join(folder, 'audit-policy-star.yaml');
  await writeFile(file, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n  - {level: Request, verbs: ["*"]}\n');
  expect(await fixture.run('config-check', '', { words: ['audit-logging', file] })).toMatchObject({ exitCode: 1 });
});

test('what is deployed from here gets its file there, and of others there is none to make', async () => {
  await expect(make(['llm-proxy'])).rejects.toMatchObject({ remedy: expect.stringMatching(/quarterdeck deploy llm-proxy/) });
  await expect(make(['limit-rang'])).rejects.toMatchObject({ remedy: expect.stringMatching(/limit-range/) });
});
