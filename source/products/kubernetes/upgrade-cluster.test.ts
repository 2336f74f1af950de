import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClusterFixture } from '../../../test/doubles/cluster-fixture.ts';
import { type Maker, makers } from '../../../test/doubles/cluster-makers.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Fault } from '../../faults/fault.ts';
import type { ChecklistItem } from '../../session/checklist.ts';
import type { Question } from '../../session/session.ts';

let fixture: ClusterFixture;
beforeEach(async () => {
  fixture = await ClusterFixture.open();
});
afterEach(() => fixture.close());

/** Returns the prepared answers; any other question fails, or is unanswered in an unattended session. */
class Somebody extends OperatorDouble {
  override async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    const answer = this.answers[question.id]?.shift();
    if (answer !== undefined) return answer;
    if (this.kind !== 'unattended') throw new Error(`nobody answers ${question.id}: ${question.label}`);
    throw new Fault('usage.unanswered', `Nobody is there: ${question.label}`, 'Answer it.');
  }
}
const somebody = (answers: Record<string, string[]> = {}, kind: 'terminal' | 'unattended' = 'terminal') => {
  const operator = new Somebody(kind);
  operator.answers = answers;
  return operator;
};

/** The checks of the fixture that would block forever, with reasons to skip them. */
const skips = ['webhooks=off for the night', 'deprecated=our own controller is moved next week', 'drain worker-3=postgres may end'];
const to = 'v1.32.4';

const itemsOf = (data: unknown): Record<string, ChecklistItem> =>
  Object.fromEntries(((data as { items: ChecklistItem[] }).items ?? []).map((item) => [item.id, item]));

/** Deletes the budgets that never allow an eviction, as their owner would. */
async function makeRoom(): Promise<void> {
  for (const name of ['postgres', 'queue-old'])
    await fixture.ask(`/apis/policy/v1/namespaces/data/poddisruptionbudgets/${name}`, { method: 'DELETE' });
}

describe('looking (R73)', () => {
  test('every item is looked at, and those that block are named with what to do', async () => {
    const { message, data, exitCode } = await fixture.run(['practice'], { to, check: true });
    const items = itemsOf(data);
    expect(exitCode).toBe(1);
    expect(message).toMatch(
      /^4 blocking items: Deprecated APIs in use \(deprecated\), Webhooks \(webhooks\), etcd snapshot \(snapshot\), Drain of worker-3 \(drain worker-3\)\.$/,
    );
    expect(Object.fromEntries(Object.values(items).map(({ id, state }) => [id, state]))).toEqual({
      skew: 'ok',
      kubectl: 'skipped',
      support: 'warning',
      rights: 'ok',
      health: 'ok',
      nodes: 'ok',
      pods: 'warning',
      deprecated: 'blocked',
      checker: 'warning',
      webhooks: 'blocked',
      apiservices: 'warning',
      stored: 'warning',
      addons: 'warning',
      certificates: 'warning',
      snapshot: 'blocked',
      backups: 'warning',
      'drain cp-1': 'ok',
      'drain worker-1': 'ok',
      'drain worker-2': 'warning',
      'drain worker-3': 'blocked',
      'control-plane cp-1': 'todo',
      'node cp-1': 'todo',
      'node worker-1': 'todo',
      'node worker-2': 'todo',
      'node worker-3': 'todo',
    });
    expect(items['webhooks']?.summary).toMatch(/policy\/policy-webhook has no endpoints/);
    expect(items['deprecated']?.summary).toMatch(
      /^removed in 1\.32 but still in use: flowschemas \(flowcontrol\.apiserver\.k8s\.io\/v1beta3\)/,
    );
    expect(items['stored']?.summary).toMatch(/issuers\.cert\.example\.com is stored as v1alpha2, which is no longer served/);
    expect(items['certificates']?.summary).toMatch(/front-proxy-client \(19 days\)/);
    expect(items['pods']?.evidence.join(' ')).toMatch(/web\/report-.*CrashLoopBackOff, 412 restarts/);
    expect(items['drain worker-3']?.evidence).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^data\/postgres-0: The disruption budget postgres needs 1 healthy pods and has 1 currently$/),
        expect.stringMatching(/^data\/queue-.*more than one PodDisruptionBudget/),
      ]),
    );
    expect(items['drain worker-2']?.evidence).toEqual(
      expect.arrayContaining([expect.stringMatching(/cache.*emptyDir/), expect.stringMatching(/debug-shell is not recreated/)]),
    );
    expect(items['backups']?.summary).toMatch(/PartiallyFailed, 2 errors; last completed backup: 32 hours ago$/);
    // A check changes nothing.
    expect(await fixture.nodes()).toMatchObject({ 'worker-1': { cordoned: false } });
    expect(await fixture.audited()).toEqual([]);
    await expect(readdir(join(fixture.folder, 'checklists'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test.each([1, 3])(
    'the path to the newest release counts a step for each minor of each part, with control planes: %i (R73)',
    async (servers) => {
      await fixture.close();
      fixture = await ClusterFixture.open({ servers });
      await fixture.run(['practice'], { to, check: true });
      const shown = fixture.operator.shown.flatMap((one) => (one.kind === 'text' ? [one.text] : [])).join('\n');
      const [, newest, steps] =
        /1\.31 -> 1\.32 -> .* -> 1\.(\d+), one checklist run for each minor version\. (\d+) steps in total\./.exec(shown) ?? [];
      const minors = Object.values(await fixture.nodes()).map(({ kubelet }) => Number(kubelet.split('.')[1]));
      expect(Number(newest)).toBeGreaterThan(32);
      expect(Number(steps)).toBe([...Array(servers).fill(31), ...minors].reduce((sum, minor) => sum + Number(newest) - minor, 0));
    },
  );

  test.each([
    ['1.33.0', 'refused.skip', /from 1\.31 to 1\.33 skips 1\.32.*1\.31 -> 1\.32 -> 1\.33/],
    ['1.35.1', 'refused.skip', /skips 1\.32 to 1\.34/],
    ['1.30.9', 'usage.release', /already runs v1\.31\.6, and a downgrade is not supported/],
    ['1.31.2', 'usage.release', /already runs v1\.31\.6, and a downgrade is not supported/],
    ['2.0.0', 'usage.release', /The major version must be 1, not 2/],
    ['latest', 'usage.release', /Unknown Kubernetes version "latest"\. Use a version such as 1\.32\.0/],
    ['1.32.0-rc.1', 'usage.release', /1\.32\.0-rc\.1 is a pre-release/],
  ])('a jump to %s is refused', async (wanted, code, message) => {
    await expect(fixture.run(['practice'], { to: wanted })).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(fixture.ran.filter((line) => !/plan|version/.test(line))).toEqual([]);
  });

  test.each(
    (['kubeadm', 'k3s', 'rke2', 'talos'] as const).flatMap((maker) =>
      ['1.35.1', 'garbage', '', '1.30.9', '1.31', '1.31.2', '1.32.4-garbage', 'v1.32.4+foo1', '1.32.0-rc.1', '1.32.0-dev', '2.0.0'].map(
        (wanted) => ({
          maker,
          wanted,
        }),
      ),
    ),
  )('on $maker --to "$wanted" is refused, and what is suggested is accepted (R73)', async ({ maker, wanted }) => {
    await fixture.close();
    fixture = await ClusterFixture.open({ maker });
    // A minor without a patch can be completed only with access to the nodes.
    fixture.reached = false;
    const fault = await fixture.run(['practice'], { to: wanted, check: true }).catch((thrown: unknown) => thrown);
    expect(fault).toBeInstanceOf(Fault);
    const { message, remedy } = fault as Fault;
    const suggested = [...`${message} ${remedy}`.matchAll(/(?:such as|--to) (?:--to )?v?(1\.\d+\.\d[^\s]*?)\.(?:\s|$)/g)].map(
      ([, found = '']) => found,
    );
    expect(suggested.length).toBeGreaterThan(0);
    for (const each of suggested)
      expect((await fixture.run(['practice'], { to: each, check: true })).data).toMatchObject({
        to: expect.stringMatching(/^v1\.3[12]\./),
      });
  });

  describe('--via', () => {
    test.each([
      ['1.31.9', /^--via 1\.31\.9 is not on the path: nodes are upgraded from 1\.29 to 1\.31 through 1\.30\.$/],
      ['1.29.9', /^--via 1\.29\.9 is not on the path/],
      ['1.32.0', /^--via 1\.32\.0 is not on the path/],
      ['2.30.1', /^--via 2\.30\.1 is not on the path/],
      ['1.30', /^--via must be a full, final Kubernetes version, not 1\.30\.$/],
      ['latest', /^--via must be a full, final Kubernetes version, not latest\.$/],
      ['1.30.1-rc.1', /^--via must be a full, final Kubernetes version, not 1\.30\.1-rc\.1\.$/],
      ['1.30.1+k3s1', /^--via 1\.30\.1\+k3s1 is not a version for this cluster \(kubeadm\)\.$/],
    ])('%s is refused, and what is suggested is accepted (R73)', async (via, message) => {
      const fault = await fixture.run(['practice'], { to: '1.31.8', via: [via], check: true }).catch((thrown: unknown) => thrown);
      expect(fault).toMatchObject({ code: 'usage.release', message: expect.stringMatching(message) });
      const suggested = /--via (\S+)\./.exec((fault as Fault).remedy)?.[1] ?? '';
      await expect(fixture.run(['practice'], { to: '1.31.8', via: [suggested], check: true })).resolves.toMatchObject({ exitCode: 1 });
    });

    test('where nodes go through no other release is refused, as are two of one minor (R73)', async () => {
      await expect(fixture.run(['practice'], { to: '1.31.8', via: ['1.30.1', '1.30.2'], check: true })).rejects.toMatchObject({
        code: 'usage.release',
        message: '--via has two versions for 1.30: 1.30.1 and 1.30.2.',
      });
      for (const name of ['worker-2', 'worker-3']) fixture.setKubelet(name, 'v1.31.6');
      await expect(fixture.run(['practice'], { to: '1.32.1', via: ['1.31.9'], check: true })).rejects.toMatchObject({
        code: 'usage.release',
        message: '--via 1.31.9 is not on the path: nodes are upgraded from 1.31 to 1.32 directly.',
        remedy: 'Omit --via.',
      });
    });

    test('that a node has passed meanwhile is no mistake of who resumes with the same words (R73)', async () => {
      await makeRoom();
      const words = { to: '1.31.8', via: ['1.30.12'], skip: skips };
      fixture.operator = somebody({}, 'unattended');
      const ending = new AbortController();
      fixture.before = (node, argv) => {
        if (node === 'worker-3' && argv.join(' ') === 'apt-get install -y kubeadm=1.31.8-*')
          ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
      };
      await expect(fixture.run(['practice'], words, ending.signal)).rejects.toMatchObject({ kind: 'interrupted' });
      expect((await fixture.nodes())['worker-3']).toEqual({ kubelet: 'v1.30.12', cordoned: true });
      fixture.before = undefined;
      fixture.operator = somebody({}, 'unattended');
      expect((await fixture.run(['practice'], words)).message).toMatch(/of practice run v1\.31\.8/);
    });
  });

  describe('kubectl on this host', () => {
    test.each([
      ['v1.31.2', 'ok', /^v1\.31\.2$/],
      ['v1.30.9', 'warning', /^kubectl v1\.30\.9 is too old for v1\.32\.4\.$/],
      ['v1.33.1', 'warning', /^kubectl is v1\.33\.1, more than one minor version away from the API server \(v1\.31\.6\)\.$/],
      ['garbage', 'warning', /^kubectl on this host does not report its version$/],
      ['v1.28.0', 'warning', /^kubectl is v1\.28\.0, more than one minor version away from the API server \(v1\.31\.6\)\.$/],
    ])('%s is judged: %s (R73)', async (gitVersion, state, summary) => {
      fixture.checker = (argv) =>
        argv[0] === 'kubectl' ? { exitCode: 0, stdout: JSON.stringify({ clientVersion: { gitVersion } }) } : undefined;
      const { data } = await fixture.run(['practice'], { to, check: true });
      expect(itemsOf(data)['kubectl']).toMatchObject({ state, summary: expect.stringMatching(summary) });
    });
  });

  test('releases that nodes go through and nobody knows are named with --via, and looking asks for none (R73)', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({ version: 'v1.32.4' });
    // worker-3 runs 1.30, and worker-2 runs a release of 1.31, so no release is missing.
    expect(itemsOf((await fixture.run(['practice'], { to: '1.33.1', check: true })).data)['via']).toBeUndefined();
    fixture.setKubelet('worker-2', 'v1.30.2');
    fixture.setKubelet('worker-3', 'v1.29.2');
    fixture.operator = somebody();
    const { data } = await fixture.run(['practice'], { to: '1.33.1', check: true });
    expect(itemsOf(data)['via']).toMatchObject({ state: 'warning', advice: 'Pass a version for each: --via 1.31.0' });
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'], { to: '1.33.1' })).rejects.toMatchObject({
      code: 'usage.unanswered',
      remedy: expect.stringMatching(/^Pass a version for each: --via 1\.31\.0\./),
    });
  });

  test('a kubelet that is newer than the API server is no success (R73)', async () => {
    fixture.setKubelet('worker-1', 'v1.33.0');
    const { data } = await fixture.run(['practice'], { to, check: true });
    const items = itemsOf(data);
    expect(items['skew']).toMatchObject({
      state: 'blocked',
      summary: expect.stringMatching(/worker-1 is v1\.33\.0, newer than the API server/),
    });
    expect(items['node worker-1']).toMatchObject({ state: 'todo' });
    // A skipped snapshot is still missing at the end.
    await makeRoom();
    fixture.operator = somebody({}, 'unattended');
    const walked = await fixture.run(['practice'], { to, skip: [...skips, 'skew=goes back tomorrow'] });
    expect(walked).toMatchObject({ exitCode: 1, message: expect.stringMatching(/worker-1 is v1\.33\.0, newer than the API server/) });
    expect(itemsOf(walked.data)['node worker-1']).toMatchObject({
      state: 'warning',
      summary: 'v1.33.0, newer than v1.32.4; a kubelet must not be newer than the API server',
    });
    expect(fixture.ran.filter((line) => /^worker-1/.test(line))).toEqual([]);
  });

  describe('a control plane that is half upgraded', () => {
    const halfWay = async (maker: Maker, answering: string) => {
      await fixture.close();
      fixture = await ClusterFixture.open({ servers: 3, maker });
      await makeRoom();
      const suffix = makers[maker].suffix;
      fixture.cluster.upgradeControlPlane(`v1.32.4${suffix}`, 'cp-1');
      // In k3s and RKE2 the kubelet is part of the same program.
      if (!makers[maker].proxied) fixture.setKubelet('cp-1', `v1.32.4${suffix}`);
      fixture.cluster.answerFrom(answering);
    };
    const cases = (['kubeadm', 'k3s', 'rke2'] as const).flatMap((maker) => [
      { maker, answering: 'cp-1' },
      { maker, answering: 'cp-2' },
    ]);

    test.each(cases)('of $maker is no obstacle where $answering answers, and what is pending is named (R73)', async (each) => {
      await halfWay(each.maker, each.answering);
      const { data, message } = await fixture.run(['practice'], { to, check: true, skip: skips });
      const items = itemsOf(data);
      expect(items['skew']).toMatchObject({ state: 'ok' });
      expect(message).not.toMatch(/Version skew/);
      expect(items['control-plane cp-1']).toMatchObject({ state: 'ok', summary: expect.stringMatching(/^at v1\.32\.4/) });
      expect(items['control-plane cp-2']).toMatchObject({ state: 'todo' });
      expect(items['control-plane cp-3']).toMatchObject({ state: 'todo' });
    });

    test.each(['cp-1', 'cp-2'])('goes on with its other nodes before any worker where %s answers (R73)', async (answering) => {
      await halfWay('kubeadm', answering);
      fixture.operator = somebody({}, 'unattended');
      const { message } = await fixture.run(['practice'], { to, skip: skips });
      expect(message).toMatch(/^The control plane and 6 nodes of practice run v1\.32\.4\./);
      const order = fixture.ran.filter((line) => /upgrade (?:apply|node)/.test(line));
      expect(order.slice(0, 2)).toEqual(['cp-2: kubeadm upgrade node', 'cp-3: kubeadm upgrade node']);
      expect(order.filter((line) => /^cp-/.test(line))).toHaveLength(2);
    });

    test('that was begun on another node than the first is not applied again (R73)', async () => {
      await fixture.close();
      fixture = await ClusterFixture.open({ servers: 2 });
      await makeRoom();
      fixture.cluster.upgradeControlPlane('v1.32.4', 'cp-2');
      fixture.operator = somebody({}, 'unattended');
      await fixture.run(['practice'], { to, skip: skips });
      expect(fixture.ran.filter((line) => /^cp-.*upgrade (?:apply|node)/.test(line))).toEqual(['cp-1: kubeadm upgrade node']);
    });

    test.each(['cp-1', 'cp-2'])(
      'goes neither further nor back where %s answers, and what is suggested is accepted (R73)',
      async (answering) => {
        await halfWay('kubeadm', answering);
        await expect(fixture.run(['practice'], { to: '1.33.0', check: true })).rejects.toMatchObject({
          code: 'refused.skip',
          message: expect.stringMatching(/^An upgrade from 1\.31 to 1\.33 skips 1\.32/),
          remedy: expect.stringMatching(/--to 1\.32\.4\./),
        });
        for (const older of ['1.31.9', '1.32.3'])
          await expect(fixture.run(['practice'], { to: older, check: true })).rejects.toMatchObject({
            code: 'usage.release',
            message: expect.stringMatching(/^An API server already runs v1\.32\.4, and a downgrade is not supported/),
            remedy: expect.stringMatching(/--to 1\.32\.4\./),
          });
      },
    );

    test.each(['kubeadm', 'k3s'] as const)('of %s holds the workers, whatever is skipped (R73)', async (maker) => {
      await halfWay(maker, 'cp-1');
      fixture.operator = somebody({ checklist: ['snapshot', 'go'] });
      await expect(
        fixture.run(['practice'], { to, skip: [...skips, 'control-plane cp-2=later', 'control-plane cp-3=later'] }),
      ).rejects.toMatchObject({
        code: 'refused.controlPlane',
        message: expect.stringMatching(/The control plane on cp-2 and cp-3 still runs v1\.31\.6/),
      });
      expect(fixture.ran.filter((line) => /^worker/.test(line))).toEqual([]);
      expect(Object.values(await fixture.nodes()).filter(({ cordoned }) => cordoned)).toEqual([]);
    });
  });

  test('API servers of which only one can be seen are not taken for upgraded (R73)', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({ servers: 2 });
    await makeRoom();
    fixture.cluster.upgradeControlPlane('v1.32.4', 'cp-1');
    fixture.hidden = /pods\/kube-apiserver-cp-2$/;
    fixture.operator = somebody({}, 'unattended');
    fixture.backMs = 200;
    await expect(fixture.run(['practice'], { to, skip: skips })).rejects.toMatchObject({
      code: 'failed.node',
      message: expect.stringMatching(/Control plane on cp-2: the pod kube-apiserver-cp-2 was not found in kube-system/),
    });
    expect(fixture.ran.filter((line) => /^worker/.test(line))).toEqual([]);
  });

  test('docs/json.md shows the shape', async () => {
    const { data } = await fixture.run(['practice'], { to, check: true, skip: ['webhooks=off for the night'] });
    const shown =
      /```json upgrade\n([\s\S]*?)```/.exec(await readFile(join(import.meta.dirname, '../../../docs/json.md'), 'utf8'))?.[1] ?? '';
    const documented = (JSON.parse(shown) as { data: { items: object[] } }).data;
    const { items, ...rest } = data as { items: object[] };
    expect(Object.keys(documented).sort()).toEqual([...Object.keys(rest), 'items'].sort());
    expect(new Set(items.flatMap((item) => Object.keys(item)))).toEqual(new Set(Object.keys(documented.items[0] ?? {})));
  });

  test('a minor alone is completed by what kubeadm plans', async () => {
    const { data } = await fixture.run(['practice'], { to: '1.32', check: true });
    expect(data).toMatchObject({ to: 'v1.32.3' });
  });

  test('a missing right is named, with how it is given, and everything else is looked at', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({
      forbidden: [
        { verb: 'list', group: 'policy', resource: '*' },
        { verb: 'list', group: 'admissionregistration.k8s.io', resource: '*' },
      ],
    });
    const { data } = await fixture.run(['practice'], { to, check: true });
    const items = itemsOf(data);
    expect(items['webhooks']).toMatchObject({
      state: 'warning',
      summary: expect.stringMatching(
        /User practice is not allowed to list (?:valid|mut)atingwebhookconfigurations\.admissionregistration\.k8s\.io/,
      ),
      advice: expect.stringMatching(/kubectl create clusterrole .* --verb=list --resource=/),
    });
    // If budgets may not be listed, every pod is checked.
    expect(items['drain worker-3']).toMatchObject({ state: 'blocked' });
    expect(items['apiservices']?.state).toBe('warning');
  });

  test('rights that the walk itself needs are asked for beforehand, and without any checker nothing goes on (R73)', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({
      forbidden: [
        { verb: 'create', group: '', resource: 'pods/eviction' },
        { verb: 'patch', group: '', resource: 'nodes' },
      ],
    });
    const { data } = await fixture.run(['practice'], { to, check: true });
    expect(itemsOf(data)['rights']).toMatchObject({
      state: 'blocked',
      summary: 'missing: patch nodes (to cordon and uncordon), create pods/eviction (to drain)',
    });
    // Each drain names the right that its dry run lacks.
    expect(itemsOf(data)['drain worker-1']).toMatchObject({
      state: 'warning',
      summary: expect.stringMatching(/not allowed to create pods\/eviction/),
    });
    fixture.metrics = 403;
    expect(itemsOf((await fixture.run(['practice'], { to, check: true })).data)['deprecated']).toMatchObject({
      state: 'blocked',
      summary: expect.stringMatching(/^Not checked: User practice is not allowed to get \/metrics/),
    });
  });

  describe('pluto, as 5.22.7 answered this very cluster', () => {
    /** The output and exit code 0 were the same when the API group of its findings was unavailable, and when it could not be listed. */
    const silent = { exitCode: 0, stdout: '{"target-versions":{"cert-manager":"v1.5.3","istio":"v1.11.0","k8s":"v1.32.4"}}\n' };
    const found = {
      exitCode: 4,
      stdout:
        '{"items":[{"name":"catch-all","api":{"version":"flowcontrol.apiserver.k8s.io/v1beta3","kind":"FlowSchema","deprecated-in":"v1.24.0","removed-in":"v1.32.0","replacement-api":"flowcontrol.apiserver.k8s.io/v1","replacement-available-in":"","component":"k8s"},"deprecated":true,"removed":true,"replacementAvailable":false}],"target-versions":{"cert-manager":"v1.5.3","istio":"v1.11.0","k8s":"v1.32.4"}}\n',
    };
    const asked: { argv: readonly string[]; env: Readonly<Record<string, string>> }[] = [];
    const withPluto = async (answer: typeof silent, options: Parameters<typeof ClusterFixture.open>[0] = {}) => {
      await fixture.close();
      fixture = await ClusterFixture.open(options);
      fixture.checker = (argv, env) => {
        if (argv[0] !== 'pluto') return undefined;
        asked.push({ argv, env });
        return answer;
      };
    };

    test('is told the release, the context and its file; what it finds is in the way', async () => {
      await withPluto(found);
      const items = itemsOf((await fixture.run(['practice'], { to, check: true })).data);
      expect(asked.at(-1)).toMatchObject({
        argv: ['pluto', 'detect-all-in-cluster', '-o', 'json', '--target-versions', 'k8s=v1.32.4', '--kube-context', 'practice'],
        env: { KUBECONFIG: join(fixture.folder, 'kubeconfig') },
      });
      expect(items['checker']).toMatchObject({
        state: 'blocked',
        summary: 'pluto found APIs that 1.32 no longer serves',
        evidence: [
          'pluto found APIs that 1.32 no longer serves',
          'catch-all: FlowSchema flowcontrol.apiserver.k8s.io/v1beta3, removed in 1.32; use flowcontrol.apiserver.k8s.io/v1',
        ],
      });
    });

    test('its silence is believed where it can see everything', async () => {
      await withPluto(silent);
      expect(itemsOf((await fixture.run(['practice'], { to, check: true })).data)['checker']).toMatchObject({
        state: 'ok',
        summary: 'pluto found nothing',
      });
    });

    test.each([
      ['is unavailable', { away: ['flowcontrol.apiserver.k8s.io'] }, /flowcontrol\.apiserver\.k8s\.io is unavailable$/],
      [
        'may not be listed',
        { forbidden: [{ verb: 'list', group: 'flowcontrol.apiserver.k8s.io', resource: '*' }] },
        /no permission to list all resources$/,
      ],
    ])('its silence about what %s is none, and without the metric nobody has looked (R73)', async (_, options, words) => {
      await withPluto(silent, options);
      fixture.metrics = 403;
      const items = itemsOf((await fixture.run(['practice'], { to, check: true })).data);
      expect(items['checker']).toMatchObject({
        state: 'warning',
        summary: expect.stringMatching(/^pluto found nothing, but the result is incomplete: /),
      });
      expect(items['checker']?.summary).toMatch(words);
      // pluto is installed: the user who runs it lacks a right, or an API is unavailable.
      expect(items['deprecated']).toMatchObject({
        state: 'blocked',
        advice: expect.stringMatching(/Check again as a user who can list them/),
      });
      expect(items['deprecated']?.advice).not.toMatch(/[Ii]nstall/);
    });
  });

  test('half of the API is away, and the rest is looked at', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({ away: ['policy', 'velero.io', 'apiextensions.k8s.io', 'discovery.k8s.io'], delayMs: 5 });
    const { data } = await fixture.run(['practice'], { to, check: true });
    const items = itemsOf(data);
    for (const id of ['backups', 'stored', 'webhooks'])
      expect(items[id]).toMatchObject({ state: 'warning', summary: expect.stringMatching(/^Not checked: .*unavailable \(503\)/) });
    expect(items['deprecated']?.state).toBe('blocked');
  });

  test('5,000 pods are read page by page', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({ morePods: 5000 });
    const { data } = await fixture.run(['practice'], { to, check: true });
    expect(itemsOf(data)['pods']?.summary).toMatch(/of 50\d\d pods with problems/);
    expect(fixture.operator.steps.map(({ label }) => label)).toEqual(expect.arrayContaining(['500 pods read', '5000 pods read']));
  });
});

describe('walking', () => {
  test('unattended: a snapshot, the control plane, then one node after the other, each a minor at a time (R73)', async () => {
    await makeRoom();
    fixture.operator = somebody({}, 'unattended');
    let most = 0;
    fixture.before = async () => {
      const cordoned = Object.values(await fixture.nodes()).filter((node) => node.cordoned);
      most = Math.max(most, cordoned.length);
    };
    const { message, data } = await fixture.run(['practice'], { to, skip: skips, report: join(fixture.folder, 'report.md') });
    expect(message).toMatch(/^The control plane and 4 nodes of practice run v1\.32\.4\./);
    expect(await fixture.nodes()).toEqual(
      Object.fromEntries(['cp-1', 'worker-1', 'worker-2', 'worker-3'].map((name) => [name, { kubelet: 'v1.32.4', cordoned: false }])),
    );
    expect(most).toBe(1);
    const changes = fixture.ran.filter((line) => /snapshot save|upgrade apply|upgrade node|install -y kubelet|restart kubelet/.test(line));
    expect(changes.map((line) => line.replace(/etcdctl .* snapshot save \S+/, 'snapshot').replace(/ kubectl=\S+/, ''))).toEqual([
      'cp-1: snapshot',
      'cp-1: kubeadm upgrade apply v1.32.4 -y',
      'cp-1: apt-get install -y kubelet=1.32.4-*',
      'cp-1: systemctl restart kubelet',
      ...['worker-1', 'worker-2', 'worker-3'].flatMap((node, index) =>
        ['1.30.10', '1.31.6', '1.32.4']
          .slice(2 - index)
          .flatMap((version) => [
            `${node}: kubeadm upgrade node`,
            `${node}: apt-get install -y kubelet=${version}-*`,
            `${node}: systemctl restart kubelet`,
          ]),
      ),
    ]);
    const items = itemsOf(data);
    expect(items['after']).toMatchObject({ state: 'ok', summary: '4 nodes at v1.32.4, all ready' });
    expect(items['webhooks']).toMatchObject({ state: 'skipped', reason: 'off for the night', by: 'ada@desk' });
    const report = await readFile(join(fixture.folder, 'report.md'), 'utf8');
    expect(report).toMatch(/^# Upgrade of practice to v1\.32\.4\n/);
    expect(report).toMatch(/- \[-\] \*\*Webhooks\*\*: skipped\..*\n {2}- Reason for skipping: off for the night/);
    expect(report).toMatch(/- \[x\] \*\*worker-3\*\*: ok\. at v1\.32\.4, ready, schedulable again/);
    const acts = (await fixture.audited()).filter(({ phase }) => phase === 'after').map(({ act, outcome }) => `${act}: ${outcome}`);
    expect(acts).toEqual(
      expect.arrayContaining(['snapshot: done', 'cordon worker-1: done', 'drain worker-1: done', 'uncordon worker-3: done']),
    );
  });

  test('unattended nothing that blocks is skipped, and nothing is changed', async () => {
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'], { to, skip: ['webhooks=off for the night', 'deprecated=known already'] })).rejects.toMatchObject(
      {
        code: 'refused.blocked',
        message: expect.stringMatching(/^1 blocking item\. Drain of worker-3 \(drain worker-3\).*postgres/),
      },
    );
    expect(await fixture.nodes()).toMatchObject({ 'cp-1': { kubelet: 'v1.31.6' }, 'worker-1': { cordoned: false } });
  });

  test('--skip without a reason is refused', async () => {
    await expect(fixture.run(['practice'], { to, skip: ['webhooks'] })).rejects.toMatchObject({ code: 'usage.skip' });
  });

  test.each(['webhook', 'node worker-1'])(
    '--skip of %s, which is no item that can be skipped, is refused with a list of those',
    async (item) => {
      await expect(fixture.run(['practice'], { to, skip: [`${item}=off for the night`] })).rejects.toMatchObject({
        code: 'usage.skip',
        message: `Unknown item "${item}" in --skip.`,
        remedy: expect.stringMatching(/^Items: skew, .*, webhooks, .*, drain worker-3, .*control-plane cp-1/),
      });
      expect(await fixture.audited()).toEqual([]);
    },
  );

  test('the upgrade cannot be chosen before the snapshot and everything else is out of the way (R73)', async () => {
    await makeRoom();
    const operator = somebody({
      checklist: ['skip:webhooks', 'skip:deprecated', 'go'],
      'reason webhooks': ['off for the night'],
      'reason deprecated': ['known already'],
    });
    fixture.operator = operator;
    await expect(fixture.run(['practice'], { to })).rejects.toMatchObject({
      code: 'usage.answer',
      message: expect.stringMatching(/"go" is not accepted/),
    });
    const choices = operator.asked
      .filter(({ id }) => id === 'checklist')
      .map((question) => ('choices' in question ? question.choices.map(({ value }) => value) : []));
    expect(choices[0]).toEqual(['snapshot', 'again', 'skip:deprecated', 'skip:webhooks', 'skip:snapshot', 'leave']);
    expect(choices[2]).toEqual(['snapshot', 'again', 'skip:snapshot', 'leave']);
  });

  test('a snapshot of more than an hour ago counts no more (R73)', async () => {
    fixture.operator = somebody({ checklist: ['snapshot', 'leave'] });
    await expect(fixture.run(['practice'], { to })).rejects.toMatchObject({ code: 'interrupted.cancelled' });
    const [name = ''] = await readdir(join(fixture.folder, 'checklists'));
    const file = join(fixture.folder, 'checklists', name);
    const stored = JSON.parse(await readFile(file, 'utf8'));
    expect(stored.notes.snapshot).toMatchObject({
      kind: 'done',
      by: 'ada@desk',
      data: { file: expect.stringMatching(/^\/var\/backups\/etcd\/quarterdeck-/) },
    });
    const again = await fixture.run(['practice'], { to, check: true });
    expect(itemsOf(again.data)['snapshot']).toMatchObject({ state: 'ok', summary: expect.stringMatching(/verified with etcdutl/) });
    // One that is no longer on the node, or is damaged, does not count.
    const { file: taken } = stored.notes.snapshot.data;
    stored.notes.snapshot.data.file = '/var/backups/etcd/gone.db';
    await writeFile(file, JSON.stringify(stored));
    expect(itemsOf((await fixture.run(['practice'], { to, check: true })).data)['snapshot']).toMatchObject({
      state: 'blocked',
      summary: expect.stringMatching(/cannot open \/var\/backups\/etcd\/gone\.db: No such file$/),
      advice: expect.stringMatching(/then create the snapshot again\.$/),
    });
    stored.notes.snapshot.data.file = taken;
    stored.notes.snapshot.data.takenMs -= 3_700_000;
    await writeFile(file, JSON.stringify(stored));
    const later = await fixture.run(['practice'], { to, check: true });
    expect(itemsOf(later.data)['snapshot']).toMatchObject({ state: 'blocked', summary: expect.stringMatching(/older than one hour/) });
  });

  test('left in the middle and gone on with by somebody else: what was done is seen, what was said is kept', async () => {
    await makeRoom();
    const ending = new AbortController();
    fixture.before = (node, argv) => {
      if (node === 'worker-2' && argv.join(' ') === 'systemctl restart kubelet')
        ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
    };
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'], { to, skip: skips }, ending.signal)).rejects.toMatchObject({
      kind: 'interrupted',
      message: expect.stringMatching(/3 of 5 steps done; worker-2 is still cordoned\./),
      remedy: expect.stringMatching(/quarterdeck upgrade practice$/),
    });
    expect(await fixture.nodes()).toMatchObject({ 'worker-1': { kubelet: 'v1.32.4', cordoned: false }, 'worker-2': { cordoned: true } });
    fixture.before = undefined;
    fixture.who = 'grace@desk';
    fixture.ran.length = 0;
    fixture.operator = somebody({}, 'unattended');
    // Neither the release nor the reasons are entered again.
    const { message, data } = await fixture.run(['practice']);
    expect(fixture.operator.texts().join(' ')).toMatch(/Resuming the upgrade to v1\.32\.4 that ada@desk started/);
    expect(message).toMatch(/of practice run v1\.32\.4/);
    expect(fixture.ran.filter((line) => /upgrade apply|worker-1: apt-get install/.test(line))).toEqual([]);
    expect(itemsOf(data)['webhooks']).toMatchObject({ state: 'skipped', by: 'ada@desk' });
    expect(await fixture.nodes()).toMatchObject({
      'worker-2': { kubelet: 'v1.32.4', cordoned: false },
      'worker-3': { kubelet: 'v1.32.4', cordoned: false },
    });
  });

  test.each(['snapshot', 'cordon cp-1', 'kubeadm upgrade apply', 'drain', 'install -y kubelet', 'uncordon'])(
    'interrupted at %s, it goes on to its end',
    async (where) => {
      await makeRoom();
      const ending = new AbortController();
      const stop = () => ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
      fixture.before = (_, argv) => {
        if (argv.join(' ').includes(where)) stop();
      };
      // Steps that run no program are detected by their progress.
      const operator = somebody({}, 'unattended');
      const { progress } = operator;
      operator.progress = (step) => {
        progress.call(operator, step);
        if (where === 'drain' && step.id === 'drain') stop();
        if (where === 'uncordon' && step.id === 'wait' && step.done && step.label === 'worker-1') stop();
        if (where === 'cordon cp-1' && step.id === 'wait' && step.done) stop();
      };
      fixture.operator = operator;
      await expect(fixture.run(['practice'], { to, skip: skips }, ending.signal)).rejects.toMatchObject({
        remedy: expect.stringMatching(/quarterdeck upgrade practice$/),
      });
      fixture.before = undefined;
      fixture.operator = somebody({}, 'unattended');
      const { message } = await fixture.run(['practice'], {});
      expect(message).toMatch(/of practice run v1\.32\.4/);
      expect(Object.values(await fixture.nodes()).every(({ kubelet, cordoned }) => kubelet === 'v1.32.4' && !cordoned)).toBe(true);
    },
  );

  test.each([true, false])(
    'interrupted between a change of a node and its answer (cordoned: %s), it says what is and knows its own (R73)',
    async (cordoned) => {
      await makeRoom();
      const ending = new AbortController();
      const { store } = fixture.cluster;
      const update = store.update.bind(store);
      store.update = (...words) => {
        const updated = update(...words);
        const changed = words[0].kind === 'Node' && updated?.metadata.name === 'worker-1' ? updated : undefined;
        if (changed && (changed.spec?.unschedulable === true) === cordoned)
          ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
        return updated;
      };
      fixture.operator = somebody({}, 'unattended');
      const fault = await fixture.run(['practice'], { to, skip: skips }, ending.signal).catch((thrown: unknown) => thrown);
      store.update = update;
      expect(fault).toMatchObject({ kind: 'interrupted' });
      expect((await fixture.nodes())['worker-1']?.cordoned).toBe(cordoned);
      expect(/worker-1 is still cordoned/.test((fault as Fault).message)).toBe(cordoned);
      fixture.operator = somebody({}, 'unattended');
      expect((await fixture.run(['practice'])).message).toMatch(/of practice run v1\.32\.4/);
      expect(Object.values(await fixture.nodes()).every((node) => !node.cordoned)).toBe(true);
    },
  );

  test('resumed while a node restarts, it is waited for, and takes pods only when it is ready (R73)', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({ nodeRestartMs: 400 });
    await makeRoom();
    const interrupted = async (at: (id: string, label: string, done?: boolean) => boolean, options = {}) => {
      const ending = new AbortController();
      const operator = somebody({}, 'unattended');
      const { progress } = operator;
      operator.progress = (step) => {
        progress.call(operator, step);
        if (at(step.id, step.label, step.done)) ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
      };
      fixture.operator = operator;
      await expect(fixture.run(['practice'], options, ending.signal)).rejects.toMatchObject({ kind: 'interrupted' });
    };
    await interrupted((id, label) => id === 'wait' && /^worker-1: .*not ready/.test(label), { to, skip: skips });
    expect((await fixture.nodes())['worker-1']).toEqual({ kubelet: 'v1.31.6', cordoned: true });
    await interrupted((id, label, done) => id === 'wait' && label === 'worker-1' && done === true);
    expect((await fixture.nodes())['worker-1']).toEqual({ kubelet: 'v1.32.4', cordoned: true });
    fixture.setReady('worker-1', false);
    const operator = somebody({}, 'unattended');
    const { progress } = operator;
    operator.progress = (step) => {
      progress.call(operator, step);
      if (step.label === 'worker-1: v1.32.4, not ready yet') fixture.setReady('worker-1', true);
    };
    fixture.operator = operator;
    expect((await fixture.run(['practice'])).message).toMatch(/of practice run v1\.32\.4/);
    expect(operator.steps.map(({ label }) => label)).toContain('worker-1: v1.32.4, not ready yet');
  });

  test('pods that cannot be moved are named; their owner makes room, or they are deleted', async () => {
    const operator = somebody({ checklist: ['snapshot', 'go'], 'stalled worker-3': ['delete'] });
    fixture.operator = operator;
    const { message } = await fixture.run(['practice'], { to, skip: skips });
    expect(message).toMatch(/of practice run/);
    const stalled = operator.asked.find(({ id }) => id === 'stalled worker-3');
    expect(stalled?.label).toMatch(
      /^worker-3 stays cordoned because 2 pods cannot be moved\..*data\/postgres-0: The disruption budget postgres needs 1 healthy pods and has 1 currently\./,
    );
    const removal = operator.confirmations.find(({ title }) => title.startsWith('Delete'));
    expect(removal?.consequences.join(' ')).toMatch(/data\/postgres-0 is deleted although its disruption budget does not allow it/);
    expect(operator.steps.map(({ label }) => label).join('\n')).toMatch(/worker-3: \d of \d pods evicted; waiting for data\//);
  });

  test('unattended, what is said in advance is done with pods that cannot be moved; otherwise it is left, and what is done is counted', async () => {
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'], { to, skip: skips })).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(/4 of 5 steps done; worker-3 is still cordoned/),
    });
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'])).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(/4 of 5 steps done/),
    });
    fixture.operator = somebody({ 'stalled worker-3': ['delete'] }, 'unattended');
    expect((await fixture.run(['practice'])).message).toMatch(/of practice run v1\.32\.4/);
  });

  test('a node that somebody else cordoned is in the way, until it is skipped with a reason; then it stays cordoned (R73)', async () => {
    await makeRoom();
    await fixture.ask('/api/v1/nodes/worker-2', { method: 'PATCH', body: '{"spec":{"unschedulable":true}}' });
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'], { to, skip: skips })).rejects.toMatchObject({
      code: 'refused.blocked',
      message: expect.stringMatching(/Nodes \(nodes\): worker-2 is cordoned \(SchedulingDisabled\), but not by this checklist/),
    });
    expect((await fixture.nodes())['cp-1']).toEqual({ kubelet: 'v1.31.6', cordoned: false });
    const { message } = await fixture.run(['practice'], { skip: ['nodes=its disk is replaced on Monday'] });
    expect(message).toMatch(/of practice run v1\.32\.4/);
    expect((await fixture.nodes())['worker-2']).toEqual({ kubelet: 'v1.32.4', cordoned: true });
  });

  test('one that is cordoned in the meantime stops the next drain (R73)', async () => {
    await makeRoom();
    fixture.operator = somebody({}, 'unattended');
    fixture.before = async (node, argv) => {
      if (node === 'cp-1' && argv.join(' ') === 'systemctl restart kubelet')
        await fixture.ask('/api/v1/nodes/worker-2', { method: 'PATCH', body: '{"spec":{"unschedulable":true}}' });
    };
    await expect(fixture.run(['practice'], { to, skip: skips })).rejects.toMatchObject({
      code: 'refused.oneAtATime',
      message: expect.stringMatching(/worker-2 is already cordoned, so worker-1 is not drained/),
    });
    expect((await fixture.nodes())['worker-1']).toEqual({ kubelet: 'v1.31.6', cordoned: false });
  });

  test('a walk that was overtaken in another way is history', async () => {
    fixture.operator = somebody({ checklist: ['leave'] });
    await expect(fixture.run(['practice'], { to: 'v1.31.9' })).rejects.toMatchObject({ kind: 'interrupted' });
    fixture.cluster.upgradeControlPlane('v1.32.4');
    const operator = somebody({ to: ['1.33.1'], checklist: ['leave'] });
    fixture.operator = operator;
    await expect(fixture.run(['practice'])).rejects.toMatchObject({ kind: 'interrupted' });
    expect(operator.asked.map(({ id }) => id)).toEqual(['to', 'checklist']);
  });

  test('by hand: commands are shown, and their result is checked', async () => {
    await makeRoom();
    fixture.reached = false;
    const byHand = somebody();
    // The operator runs the commands that are shown on the cluster itself.
    byHand.ask = async (question) => {
      if (question.id === 'checklist') return 'go';
      const [, node = ''] = /run on (\S+)$/.exec(question.label) ?? [];
      for (const line of (question.help ?? '').split(' && ')) await fixture.cluster.onNode(node, line.split(' '));
      return 'done';
    };
    fixture.operator = byHand;
    const { message } = await fixture.run(['practice'], { to, skip: [...skips, 'snapshot=taken by hand, nas:/srv/etcd.db'] });
    expect(message).toMatch(/of practice run v1\.32\.4/);
    expect(byHand.texts().join('\n')).toMatch(/Run manually on worker-1 as root \(not a configured host\):\n {2}sed -i/);
    expect(fixture.ran).toEqual([]);
  });

  test('by hand no snapshot is offered, so it is told how to take one', async () => {
    const { data } = await fixture.run(['practice'], { to, check: true, hand: true });
    expect(itemsOf(data)['snapshot']).toMatchObject({
      state: 'blocked',
      advice: expect.stringMatching(/^Create a snapshot on cp-1: ETCDCTL_API=3/),
    });
  });

  test('an API server that was skipped is named at the end (R73)', async () => {
    await fixture.close();
    fixture = await ClusterFixture.open({ servers: 2 });
    await makeRoom();
    fixture.operator = somebody({}, 'unattended');
    const outcome = await fixture.run(['practice'], { to: '1.31.8', via: ['1.30.12'], skip: [...skips, 'control-plane cp-2=next week'] });
    expect(outcome).toMatchObject({
      exitCode: 1,
      message: 'practice is not fully upgraded to v1.31.8: an API server still runs v1.31.6.',
    });
  });

  test('a node that runs a newer patch release is not said to run the target', async () => {
    await makeRoom();
    fixture.setKubelet('worker-1', 'v1.31.9');
    fixture.operator = somebody({}, 'unattended');
    const { message, data } = await fixture.run(['practice'], { to: '1.31.8', via: ['1.30.12'], skip: skips });
    expect(message).toBe('The control plane and 4 nodes of practice run v1.31.8 or newer.');
    expect(itemsOf(data)['after']?.summary).toBe('4 nodes at v1.31.8 or newer, all ready');
  });

  test('the command that resumes it names the kubeconfig, without which the context is unknown', async () => {
    const kubeconfig = join(fixture.folder, 'kubeconfig');
    fixture.operator = somebody({ checklist: ['leave'] });
    await expect(fixture.run(['practice'], { to, kubeconfig })).rejects.toMatchObject({
      remedy: `To resume the upgrade: quarterdeck upgrade practice --kubeconfig ${kubeconfig}`,
    });
  });

  test('a checklist of another release, cluster or component is refused, with what it belongs to; its skips stay there', async () => {
    const checklist = join(fixture.folder, 'handed-over.json');
    fixture.operator = somebody({ checklist: ['leave'] });
    await expect(fixture.run(['practice'], { to, checklist, skip: skips })).rejects.toMatchObject({ kind: 'interrupted' });
    const stored = JSON.parse(await fixture.text('handed-over.json'));
    const refused = (message: RegExp) => ({ code: 'refused.checklist', message: expect.stringMatching(message) });
    fixture.operator = somebody({}, 'unattended');
    await expect(fixture.run(['practice'], { to: '1.31.8', checklist })).rejects.toMatchObject(
      refused(
        /handed-over\.json belongs to another checklist: "Upgrade of practice to v1\.32\.4", started by ada@desk \(.*to: v1\.32\.4\)/,
      ),
    );
    for (const facts of [
      { ...stored.facts, cluster: 'https://10.0.0.7:6443' },
      { component: 'rss-reader', host: 'nas', from: 'miniflux/miniflux:2' },
    ]) {
      await writeFile(checklist, JSON.stringify({ ...stored, facts }));
      await expect(fixture.run(['practice'], { checklist, check: true })).rejects.toMatchObject(
        refused(/cluster: https:\/\/10\.0\.0\.7:6443|component: rss-reader, host: nas/),
      );
      expect(JSON.parse(await fixture.text('handed-over.json')).facts).toEqual(facts);
    }
    // A colleague may have another name for it.
    await writeFile(checklist, JSON.stringify({ ...stored, facts: { ...stored.facts, context: 'home' } }));
    const { data } = await fixture.run(['practice'], { checklist, check: true });
    expect(itemsOf(data)['webhooks']?.state).toBe('skipped');
  });

  test('the clusters of two hosts that call themselves the same at one address do not share a checklist', async () => {
    fixture.uid = '6f1c';
    fixture.operator = somebody({ checklist: ['leave'] });
    await expect(fixture.run(['practice'], { to, skip: skips })).rejects.toMatchObject({ kind: 'interrupted' });
    fixture.uid = '0b92';
    await expect(fixture.run(['practice'], { to })).rejects.toMatchObject({
      code: 'refused.checklist',
      message: expect.stringContaining('uid: 6f1c'),
    });
    fixture.uid = '6f1c';
    const { data } = await fixture.run(['practice'], { check: true });
    expect(itemsOf(data)['webhooks']?.state).toBe('skipped');
  });

  test('dry-run: everything that would be done is told, nothing is', async () => {
    fixture.dryRun = true;
    const { message } = await fixture.run(['practice'], { to });
    expect(message).toBe('Dry run: practice still runs v1.31.6.');
    const reported = fixture.operator.texts().join('\n');
    expect(reported).toMatch(/Would do: on cp-1, in practice: .*kubeadm upgrade apply v1\.32\.4 -y/);
    expect(reported).toMatch(/Would do: PATCH \/api\/v1\/nodes\/worker-3/);
    expect(reported).toMatch(/Would do: POST .*eviction for .*data\/postgres-0/);
    expect(fixture.ran.filter((line) => /save|apply|install|restart/.test(line))).toEqual([]);
    expect(await fixture.nodes()).toMatchObject({ 'worker-1': { cordoned: false, kubelet: 'v1.31.6' } });
    await expect(readdir(join(fixture.folder, 'checklists'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('neither files nor the audit hold the token', async () => {
    fixture.operator = somebody({ checklist: ['snapshot', 'leave'] });
    await expect(fixture.run(['practice'], { to, report: join(fixture.folder, 'report.md') })).rejects.toMatchObject({
      kind: 'interrupted',
    });
    const [name = ''] = await readdir(join(fixture.folder, 'checklists'));
    const texts = [
      await fixture.text('audit.jsonl'),
      await fixture.text(`checklists/${name}`),
      await fixture.text('report.md'),
      JSON.stringify(fixture.operator.shown),
    ];
    for (const text of texts) expect(text).not.toContain(fixture.cluster.token);
  });
});
